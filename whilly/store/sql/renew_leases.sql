-- Extends leases by $4 seconds, but only those of the epoch named; says what each attempt may spend and whether to stop.
with asked as (
    select * from unnest($1::text[], $2::text[], $3::int[], $5::text[], $6::text[], $7::bigint[])
        as r (plan_id, task_id, epoch, phase, last_line, used_micros)
),
locked as materialized (
    select t.plan_id, t.id, t.epoch, a.phase, a.last_line, a.used_micros
    from asked a
    join tasks t on t.plan_id = a.plan_id and t.id = a.task_id and t.epoch = a.epoch
    where t.claim_id is not null
    order by t.plan_id, t.id
    for update of t
),
seen as (
    update attempts a
    set last_seen = clock_timestamp(), phase = l.phase, last_line = l.last_line,
        used_micros = coalesce(l.used_micros, a.used_micros)
    from locked l
    where a.plan_id = l.plan_id and a.task_id = l.id and a.epoch = l.epoch
)
update tasks t
set lease_until = greatest(t.lease_until, clock_timestamp() + make_interval(secs => $4))
from locked l
join plans p on p.id = l.plan_id
where t.plan_id = l.plan_id and t.id = l.id
returning t.plan_id, t.id, t.epoch, t.cancel_requested, t.reserved_micros, t.budget_micros, t.spent_micros,
    p.budget_micros as plan_budget_micros, p.spent_micros as plan_spent_micros,
    p.reserved_micros as plan_reserved_micros, p.daily_budget_micros as plan_daily_budget_micros,
    spent_today(p) as plan_spent_today_micros,
    coalesce(p.paused_reason, (select c.paused_reason from control c)) is not null as paused
