-- Part $4 of the bundle of attempt $3 of task $2 of plan $1, and whether the bundle is whole.
select p.data, b.sealed_at is not null as sealed
from bundle_parts p
join bundles b on b.plan_id = p.plan_id and b.task_id = p.task_id and b.epoch = p.epoch
where p.plan_id = $1 and p.task_id = $2 and p.epoch = $3 and p.number = $4
