-- Worker $1 has ended: nobody needs to wait for it until it counts as silent.
update workers set left_at = clock_timestamp() where id = $1
