-- The workers $1 get nothing more; a claim that is being granted to one of them fails. Their processes are superseded by
-- none, so that they hear of it at once.
update workers set draining = true, session = session + 1, left_at = coalesce(left_at, clock_timestamp()) where id = any($1::text[])
