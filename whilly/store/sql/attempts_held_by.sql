-- What the workers $1 are working on.
select plan_id, task_id, epoch, worker_id
from (select id as task_id, plan_id, epoch, worker_id from tasks where claim_id is not null) as held
where worker_id = any($1::text[])
order by plan_id, task_id
