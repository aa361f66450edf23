-- Keeps a person's wish ($3) with the newest attempt of task $2 of plan $1, for the one that follows.
update attempts set comment = $3
where plan_id = $1 and task_id = $2 and epoch = (
    select max(epoch) from attempts where plan_id = $1 and task_id = $2
)
