-- The token with the public id $1, unless it is revoked or too old; it stays so until this transaction ends.
select id from tokens
where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
for share
