-- The given tasks, locked in one order.
select t.*, clock_timestamp() as now
from unnest($1::text[], $2::text[]) as f (plan_id, task_id)
join tasks t on t.plan_id = f.plan_id and t.id = f.task_id
order by t.plan_id, t.id
for update of t
