-- Plan $1 with what holds for its tasks now, and what the workers that are online offer.
select p.*, spent_today(p) as spent_today_micros, c.paused_reason as system_paused, clock_timestamp() as now, w.workers_online, w.offers, w.all_hold
from plans p
cross join control c
cross join lateral (
    select count(*) as workers_online,
        coalesce(
            jsonb_agg(distinct jsonb_build_object('agents', agents, 'tags', tags, 'isolation', isolation)), '[]'
        ) as offers,
        case when bool_and(draining or state <> '') then
            min(case when draining then 'worker ' || id || ' is drained' else state end)
        end as all_hold
    from workers
    where last_seen > clock_timestamp() - interval '90 seconds' and left_at is null and coalesce(plan_id, $1) = $1
) w
where p.id = $1
