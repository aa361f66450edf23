-- Tokens, newest first; $1: only of this kind, null for all; $2: also those that open nothing any more; at most $3.
-- Sessions are left out unless asked for: they are browsers, which come and go.
select id, kind, plan_id, worker_id, label, parent, created_at, expires_at, revoked_at, last_used_at, uses, uses_allowed,
    revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
        and (uses_allowed is null or uses < uses_allowed) as good
from tokens
where case when $1::text is null then kind <> 'session' else kind = $1 end
    and (
        $2 or (
            revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
            and (uses_allowed is null or uses < uses_allowed)
        )
    )
order by created_at desc, id
limit $3
