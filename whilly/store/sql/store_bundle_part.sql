-- Keeps part $4 of a bundle ($1 plan, $2 task, $3 epoch); one that is there already stays as it is.
insert into bundle_parts (plan_id, task_id, epoch, number, data) values ($1, $2, $3, $4, $5) on conflict do nothing
