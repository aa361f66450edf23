-- The newest $2 events of plan $1, newest first, looking no further back than 5,000 events.
select l.position, l.hash, e.id, e.plan_id, e.task_id, e.type, e.payload, e.detail, e.at
from event_log l
join events e on e.id = l.event_id
where e.plan_id = $1 and l.position > (select coalesce(max(position), 0) - 5000 from event_log)
order by l.position desc
limit $2
