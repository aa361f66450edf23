-- Adds $3 micro-dollars to what task $2 of plan $1 has cost.
update tasks set spent_micros = greatest(spent_micros + $3, 0) where plan_id = $1 and id = $2
