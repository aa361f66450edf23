-- Uses up the one-time login with hash $1; no row when it is unknown, used or too old.
update logins set used_at = clock_timestamp()
where hash = $1 and used_at is null and expires_at > clock_timestamp()
returning label
