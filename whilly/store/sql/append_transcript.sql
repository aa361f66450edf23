-- Keeps pieces ($4 numbers, $5 texts) of the transcript of one attempt; those that are there already stay as they are.
insert into transcripts (plan_id, task_id, epoch, number, text)
select a.plan_id, a.task_id, a.epoch, c.number, c.text
from attempts a, unnest($4::int[], $5::text[]) as c (number, text)
where a.plan_id = $1 and a.task_id = $2 and a.epoch = $3
on conflict do nothing
