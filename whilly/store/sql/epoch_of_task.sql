-- Which attempt of task $2 of plan $1 is the current one.
select epoch from tasks where plan_id = $1 and id = $2
