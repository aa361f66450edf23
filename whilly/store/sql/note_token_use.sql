-- Remembers that token $1 was used now.
update tokens set last_used_at = clock_timestamp() where id = $1
