-- Remembers that the workers $1 gave a sign of life.
update workers set last_seen = clock_timestamp() where id = any($1::text[])
