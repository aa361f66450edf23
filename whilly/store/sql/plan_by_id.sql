-- Plan $1 with what holds for its tasks now.
select p.*, c.paused_reason as system_paused, clock_timestamp() as now, (
    select count(*) from workers where last_seen > clock_timestamp() - interval '90 seconds'
) as workers_online
from plans p
cross join control c
where p.id = $1
