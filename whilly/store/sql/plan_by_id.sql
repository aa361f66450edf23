-- Plan $1 with what holds for its tasks now.
select p.*, c.paused_reason as system_paused, clock_timestamp() as now, w.workers_online, w.agents_online
from plans p
cross join control c
cross join lateral (
    select count(distinct id) as workers_online, coalesce(array_agg(distinct a.agent), '{}') as agents_online
    from workers
    left join lateral unnest(agents) as a (agent) on true
    where last_seen > clock_timestamp() - interval '90 seconds' and left_at is null and coalesce(plan_id, $1) = $1
) w
where p.id = $1
