-- The bundle of attempt $3 of task $2 of plan $1, and whether that attempt is running; no row when there is no such task.
select t.epoch, t.epoch = $3 and t.claim_id is not null as running,
    b.commit_id, b.size_bytes, b.sha256, b.sealed_at is not null as sealed
from tasks t
left join bundles b on b.plan_id = t.plan_id and b.task_id = t.id and b.epoch = $3
where t.plan_id = $1 and t.id = $2
