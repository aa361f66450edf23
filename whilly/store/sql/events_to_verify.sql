-- Up to $2 places of the log beyond position $1 with what is stored there, as it was hashed.
select l.position, l.hash, e.id, e.plan_id, e.task_id, e.type, e.payload::text as payload, e.detail::text as detail, e.at
from event_log l
left join events e on e.id = l.event_id
where l.position > $1
order by l.position
limit $2
