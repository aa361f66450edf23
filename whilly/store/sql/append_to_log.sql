-- Appends the events $2 with their hashes $3 after position $1, and tells those who listen how far the log goes.
with appended as (
    insert into event_log (position, event_id, hash)
    select $1 + n.place, n.event_id, n.hash
    from unnest($2::bigint[], $3::bytea[]) with ordinality as n (event_id, hash, place)
    returning position
)
select pg_notify('whilly', max(position)::text) from appended
