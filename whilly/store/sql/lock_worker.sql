-- Worker $1 and how long it is silent, locked until the transaction ends.
select w.*, extract(epoch from clock_timestamp() - w.last_seen)::float8 as silent_seconds
from workers w
where w.id = $1
for update
