-- Up to $1 committed events that have no position yet, oldest first; they are no longer pending.
with taken as (
    delete from events_pending
    where event_id in (select event_id from events_pending order by event_id limit $1)
    returning event_id
)
select e.id, e.plan_id, e.task_id, e.type, e.payload::text as payload, e.detail::text as detail, e.at
from taken t
join events e on e.id = t.event_id
order by e.id
