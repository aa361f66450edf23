-- Writes down the process $2 that works as worker $1 in session $3, and what it offers.
insert into workers (
    id, incarnation, session, hostname, agents, versions, tags, isolation, slots, free_disk_bytes, state, plan_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update
set incarnation = excluded.incarnation, session = excluded.session, hostname = excluded.hostname,
    agents = excluded.agents, versions = excluded.versions, tags = excluded.tags, isolation = excluded.isolation,
    slots = excluded.slots, free_disk_bytes = excluded.free_disk_bytes, state = excluded.state,
    last_seen = clock_timestamp(), left_at = null
where workers.session < excluded.session
    or (workers.session = excluded.session and workers.incarnation = excluded.incarnation)
returning session, draining
