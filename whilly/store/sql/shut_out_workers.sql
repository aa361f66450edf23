-- The workers $1 get nothing more; a claim that is being granted to one of them fails.
update workers set draining = true, left_at = coalesce(left_at, clock_timestamp()) where id = any($1::text[])
