-- The newest ended attempt of each of the tasks $2 of plan $1.
select distinct on (task_id)
    task_id, epoch, outcome, reason, head_commit, kept_ref, checks, comment
from attempts
where plan_id = $1 and task_id = any($2::text[]) and ended_at is not null
order by task_id, epoch desc
