-- Enters worker $1, or enters it anew. It works on plan $5 only; null: on any.
insert into workers (id, hostname, agents, isolation, plan_id) values ($1, $2, $3, $4, $5)
on conflict (id) do update
set hostname = excluded.hostname, agents = excluded.agents, isolation = excluded.isolation,
    plan_id = excluded.plan_id, last_seen = clock_timestamp(), left_at = null
