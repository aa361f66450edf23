-- The newest whole bundle of task $2 of plan $1.
select epoch, commit_id, size_bytes, sha256
from bundles
where plan_id = $1 and task_id = $2 and sealed_at is not null
order by epoch desc
limit 1
