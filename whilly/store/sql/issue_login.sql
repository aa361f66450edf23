-- Stores a one-time login by its hash. $2: lifetime.
insert into logins (hash, expires_at) values ($1, clock_timestamp() + $2::interval)
