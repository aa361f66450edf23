-- All workers, or ($1) those that may work on a plan; those seen last first.
select id, hostname, agents, versions, tags, isolation, slots, free_disk_bytes, state, draining, plan_id,
    registered_at, last_seen, left_at is null and last_seen > clock_timestamp() - interval '90 seconds' as online
from workers
where $1::text is null or coalesce(plan_id, $1) = $1
order by last_seen desc, id
limit $2
