-- Stores a one-time login by its hash. $2: lifetime, $3: whose it is.
insert into logins (hash, expires_at, label) values ($1, clock_timestamp() + $2::interval, $3)
