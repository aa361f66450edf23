-- Removes the bundle of attempt $3 of task $2 of plan $1, with its parts.
delete from bundles where plan_id = $1 and task_id = $2 and epoch = $3
