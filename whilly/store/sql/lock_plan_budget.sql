-- The money of plan $1, locked.
select budget_micros, spent_micros, reserved_micros from plans where id = $1 for update
