-- Who works, or worked, on attempt $3 of task $2 of plan $1.
select worker_id from attempts where plan_id = $1 and task_id = $2 and epoch = $3
