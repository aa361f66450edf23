-- Reserves files for tasks; gives back the tasks of those files that were free.
insert into held_files (repository, path, plan_id, task_id)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as f (repository, path, plan_id, task_id)
order by f.repository, f.path
on conflict on constraint a_file_is_held_by_one_task do nothing
returning plan_id, task_id
