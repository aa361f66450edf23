-- Frees all files of the given tasks.
delete from held_files h
using unnest($1::text[], $2::text[]) as f (plan_id, task_id)
where h.plan_id = f.plan_id and h.task_id = f.task_id
