-- Key files of ready tasks of plan $1 (or those of them in $2) that running tasks hold.
select distinct t.position, t.id as task_id, h.path, h.plan_id as holder_plan, h.task_id as holder_task
from tasks t
join plans p on p.id = t.plan_id
cross join lateral unnest(t.key_files) as k (path)
join held_files h
    on h.repository = coalesce(nullif(t.repository, ''), nullif(p.repository, ''), p.id)
    and (h.path = k.path or starts_with(h.path, k.path || '/') or starts_with(k.path, h.path || '/'))
where t.plan_id = $1 and t.status = 'PENDING' and t.unmet = 0
    and t.id = any(coalesce($2::text[], (select array_agg(id) from tasks where plan_id = $1)))
order by t.position, h.path
