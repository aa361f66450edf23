-- What the tasks of plan $1 (or those of them in $2) still wait for, in plan order.
select d.task_id, t.id, t.status, t.reason
from dependencies d
join tasks t on t.plan_id = d.plan_id and t.id = d.needs
where d.plan_id = $1 and ($2::text[] is null or d.task_id = any($2::text[])) and t.status <> 'DONE'
order by d.task_id, t.position
