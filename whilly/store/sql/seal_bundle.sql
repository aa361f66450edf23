-- Says that the bundle of attempt $3 of task $2 of plan $1 is whole.
update bundles set sealed_at = clock_timestamp() where plan_id = $1 and task_id = $2 and epoch = $3
