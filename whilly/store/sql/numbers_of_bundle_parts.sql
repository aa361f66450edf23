-- The parts that are there of the bundle of attempt $3 of task $2 of plan $1.
select number from bundle_parts where plan_id = $1 and task_id = $2 and epoch = $3 order by number
