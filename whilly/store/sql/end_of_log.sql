-- The newest position and its hash; 0 and null for an empty log.
select coalesce(max(position), 0) as position, (
    select hash from event_log order by position desc limit 1
) as hash
from event_log
