-- All tasks of plan $1 with their descriptions, locked in one order.
select t.*, s.spec, clock_timestamp() as now
from tasks t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
where t.plan_id = $1
order by t.plan_id, t.id
for update of t
