-- Reserves files for tasks; gives back the tasks of those files that nobody else works on, nor on a folder around them.
insert into held_files (repository, path, plan_id, task_id)
select f.repository, f.path, f.plan_id, f.task_id
from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as f (repository, path, plan_id, task_id)
where not exists (
    select from held_files h
    where h.repository = f.repository
        and (h.path = f.path or starts_with(h.path, f.path || '/') or starts_with(f.path, h.path || '/'))
)
on conflict on constraint a_file_is_held_by_one_task do nothing
returning plan_id, task_id
