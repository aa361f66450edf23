-- The tasks that need one of the given ones ($1, $2), locked in one order; once for each that they need.
select t.*, d.needs as prerequisite
from unnest($1::text[], $2::text[]) as f (plan_id, task_id)
join dependencies d on d.plan_id = f.plan_id and d.needs = f.task_id
join tasks t on t.plan_id = d.plan_id and t.id = d.task_id
order by t.plan_id, t.id
for update of t
