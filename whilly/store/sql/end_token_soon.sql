-- Token $1 opens things for $2 more at most.
update tokens
set expires_at = least(coalesce(expires_at, 'infinity'), clock_timestamp() + $2::interval)
where id = $1
