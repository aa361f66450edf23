-- Removes the bundles that attempts before $3 of task $2 of plan $1 left: nobody asks for them any more.
delete from bundles where plan_id = $1 and task_id = $2 and epoch < $3
