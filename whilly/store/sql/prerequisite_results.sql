-- The results that the tasks $2 of plan $1 build on, and the repo targets that they are in.
select d.task_id, t.id, t.result_commit, t.result_branch, t.repository
from unnest($2::text[]) as w (task_id)
join dependencies d on d.plan_id = $1 and d.task_id = w.task_id
join tasks t on t.plan_id = d.plan_id and t.id = d.needs
order by d.task_id, t.position
