-- Revokes token $1 and those issued with it; gives all that were still good, with the worker that each stood for.
with recursive line as (
    select id from tokens where id = $1
    union all
    select below.id from tokens as below join line on below.parent = line.id
)
update tokens set revoked_at = clock_timestamp()
where id in (select id from line) and revoked_at is null
returning id, worker_id
