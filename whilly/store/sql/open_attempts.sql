-- One row for each attempt that begins; says whether their plan has a budget now. None begins for a worker that is
-- drained, nor for a process ($6: sessions) whose place another one has taken; session 0 is of releases without them.
insert into attempts (plan_id, task_id, epoch, worker_id, claimed_at, last_seen, phase)
select a.plan_id, a.task_id, a.epoch, a.worker_id, a.claimed_at, a.claimed_at, 'claimed'
from unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::timestamptz[], $6::int[])
    as a (plan_id, task_id, epoch, worker_id, claimed_at, session)
where not exists (
    select from workers w
    where w.id = a.worker_id and (w.draining or (w.session > a.session and a.session > 0))
)
returning (
    select coalesce(p.budget_micros, p.daily_budget_micros) is not null from plans p where p.id = attempts.plan_id
) as budgeted
