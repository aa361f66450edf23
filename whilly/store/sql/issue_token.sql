-- Stores a token by its hash. $7: lifetime, null for a token that does not expire; $9: how often it may be used.
insert into tokens (id, kind, hash, plan_id, worker_id, label, parent, expires_at, uses_allowed)
values ($1, $2, $3, $4, $5, $6, $8, clock_timestamp() + $7::interval, $9)
returning expires_at
