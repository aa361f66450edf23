-- Up to $3 events beyond position $1, oldest first, of plan $2 or of all.
select l.position, l.hash, e.id, e.plan_id, e.task_id, e.type, e.payload, e.detail, e.at
from event_log l
join events e on e.id = l.event_id
where l.position > $1 and ($2::text is null or e.plan_id = $2)
order by l.position
limit $3
