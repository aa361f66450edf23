-- Whether this transaction may sequence: one at a time does. The number is this lock's own name.
select pg_try_advisory_xact_lock(749303711) as held
