-- The tasks of plan $1 (or those of them in $2) with their descriptions and their current attempt, in plan order.
-- `$2 is null or …` would look at every task of the plan to find one.
select t.*, s.spec, a.phase, a.last_line, a.used_micros,
    extract(epoch from clock_timestamp() - a.last_seen)::float8 as last_seen_seconds
from tasks t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
left join attempts a on a.plan_id = t.plan_id and a.task_id = t.id and a.epoch = t.epoch and t.claim_id is not null
where t.plan_id = $1 and t.id = any(coalesce($2::text[], (select array_agg(id) from tasks where plan_id = $1)))
order by t.position
