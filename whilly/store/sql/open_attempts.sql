-- One row for each attempt that begins; says whether their plan has a budget now.
insert into attempts (plan_id, task_id, epoch, worker_id, claimed_at, last_seen, phase)
select a.plan_id, a.task_id, a.epoch, a.worker_id, a.claimed_at, a.claimed_at, 'claimed'
from unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::timestamptz[])
    as a (plan_id, task_id, epoch, worker_id, claimed_at)
returning (select p.budget_micros is not null from plans p where p.id = attempts.plan_id) as budgeted
