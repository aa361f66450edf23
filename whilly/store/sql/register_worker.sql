-- Enters worker $1, or enters it anew.
insert into workers (id, hostname, agents, isolation) values ($1, $2, $3, $4)
on conflict (id) do update
set hostname = excluded.hostname, agents = excluded.agents, isolation = excluded.isolation,
    last_seen = clock_timestamp()
