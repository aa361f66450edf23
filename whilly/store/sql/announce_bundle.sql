-- Begins the bundle of an attempt ($1 plan, $2 task, $3 epoch): commit $4, $5 bytes, with the SHA-256 $6.
insert into bundles (plan_id, task_id, epoch, commit_id, size_bytes, sha256)
values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
