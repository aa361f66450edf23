-- Who works, how long the log is, what in it has no position yet (counted up to 10,000), and what is not counted yet.
select
    (
        select count(*) from workers where last_seen > clock_timestamp() - interval '90 seconds' and left_at is null
    ) as workers_online,
    (select coalesce(max(position), 0) from event_log) as events,
    (select count(*) from (select from events_pending limit 10000) p) as pending_events,
    coalesce((
        select extract(epoch from clock_timestamp() - e.at)
        from (select event_id from events_pending order by event_id limit 1) o
        join events e on e.id = o.event_id
    ), 0)::float8 as lag_seconds,
    (select position from cursors where name = 'tallies') as counted
