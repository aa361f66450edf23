-- Adds to the tallies ($1: one JSON object each, of different ones); in one order, so that two of these never deadlock.
insert into tallies (name, labels, value)
select r.name, r.labels, r.value
from jsonb_to_recordset($1::jsonb) as r (name text, labels text[], value double precision)
order by r.name, r.labels
on conflict (name, labels) do update set value = tallies.value + excluded.value, at = clock_timestamp()
