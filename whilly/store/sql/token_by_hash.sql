-- The token with hash $1, unless it is expired or revoked, or one that it was issued with is revoked.
-- `stale`: its last use was noted more than a minute ago.
with recursive line as (
    select id, parent, revoked_at from tokens where hash = $1
    union all
    select above.id, above.parent, above.revoked_at
    from tokens as above
    join line on line.parent = above.id
)
select
    tokens.id, tokens.kind, tokens.plan_id, tokens.worker_id, tokens.label, tokens.hash,
    coalesce(tokens.last_used_at < clock_timestamp() - interval '1 minute', true) as stale
from tokens
where tokens.hash = $1
    and (tokens.expires_at is null or tokens.expires_at > clock_timestamp())
    and not exists (select from line where line.revoked_at is not null)
