-- Which of the workers $1 have no token any more that is neither revoked nor expired.
select w.id
from unnest($1::text[]) as w (id)
where not exists (
    select from tokens t
    where t.worker_id = w.id and t.revoked_at is null
        and (t.expires_at is null or t.expires_at > clock_timestamp())
)
