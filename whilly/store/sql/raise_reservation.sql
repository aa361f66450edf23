-- Lets the running task $2 of plan $1 spend $3 micro-dollars more.
update tasks set reserved_micros = reserved_micros + $3 where plan_id = $1 and id = $2 and claim_id is not null
