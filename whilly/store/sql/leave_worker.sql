-- The process of session $2 that worked as worker $1 has ended, unless another one has taken its place.
update workers set left_at = clock_timestamp(), state = '' where id = $1 and session = $2
