-- How often tasks of plan $1 were claimed before it was deleted, by what the log remembers; nothing if it never was.
select e.task_id, count(*)::int as epoch
from events e
where e.plan_id = $1
    and e.type = 'CLAIM'
    and exists (select from events d where d.plan_id = $1 and d.task_id is null and d.type = 'plan.deleted')
group by e.task_id
