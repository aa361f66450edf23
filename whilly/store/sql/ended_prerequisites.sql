-- Prerequisites of task $2 of plan $1 that ended without a result, in plan order.
select t.id, t.status, t.reason
from dependencies d
join tasks t on t.plan_id = d.plan_id and t.id = d.needs
where d.plan_id = $1 and d.task_id = $2 and t.status in ('FAILED', 'SKIPPED')
order by t.position
