-- How many tasks of each of the plans $1 may be claimed, as far as they themselves are concerned, and since when one is.
select p.id, q.pending, coalesce(extract(epoch from clock_timestamp() - q.since), 0)::float8 as age_seconds
from unnest($1::text[]) as p (id)
cross join lateral (
    select count(*) as pending, min(greatest(t.updated_at, t.parked_until)) as since
    from tasks t
    where t.plan_id = p.id
        and t.status = 'PENDING'
        and t.unmet = 0
        and (t.parked_until is null or t.parked_until <= clock_timestamp())
) q
