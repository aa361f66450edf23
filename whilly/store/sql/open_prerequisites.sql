-- What the tasks of plan $1 (or those of them in $2) still wait for, in plan order.
-- `$2 is null or …` would look at every task of the plan to find one.
select d.task_id, t.id, t.status, t.reason
from dependencies d
join tasks t on t.plan_id = d.plan_id and t.id = d.needs
where d.plan_id = $1
    and d.task_id = any(coalesce($2::text[], (select array_agg(id) from tasks where plan_id = $1)))
    and t.status <> 'DONE'
order by d.task_id, t.position
