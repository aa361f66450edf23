-- All attempts of task $2 of plan $1, oldest first.
select * from attempts where plan_id = $1 and task_id = $2 order by epoch
