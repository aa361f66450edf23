-- Token $1 with how long such tokens last, locked; no row when it opens nothing any more.
select id, kind, plan_id, worker_id, label, expires_at - created_at as lifetime
from tokens
where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
for update
