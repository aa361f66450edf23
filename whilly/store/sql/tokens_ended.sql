-- Which of the hashes $1 open nothing any more: expired, gone, or revoked, by themselves or with a token above.
-- The others are in use: that is remembered, once a minute.
with recursive line as (
    select tokens.id as token, tokens.parent, tokens.revoked_at, tokens.expires_at
    from tokens
    where tokens.hash = any($1::bytea[])
    union all
    select line.token, above.parent, above.revoked_at, null
    from line
    join tokens as above on above.id = line.parent
),
ended as (
    select distinct token from line where revoked_at is not null or expires_at <= clock_timestamp()
),
noted as (
    update tokens set last_used_at = clock_timestamp()
    where hash = any($1::bytea[]) and coalesce(last_used_at < clock_timestamp() - interval '1 minute', true)
)
select asked.hash
from unnest($1::bytea[]) as asked (hash)
where not exists (
    select from tokens where tokens.hash = asked.hash and not exists (select from ended where ended.token = tokens.id)
)
