-- The control plane can be reached from outside at $1 now.
insert into published_address (url) values ($1)
on conflict (id) do update set url = excluded.url, published_at = clock_timestamp()
