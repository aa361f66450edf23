-- Up to 50 attempts whose lease ran out, with their tasks, locked; others that are being finished now are left alone.
with expired as materialized (
    select plan_id, id, epoch
    from tasks
    where claim_id is not null and lease_until < clock_timestamp()
    order by plan_id, id
    limit 50
    for update skip locked
)
select
    t.*,
    t.epoch as asked_epoch,
    s.spec -> 'checks' as task_checks,
    p.checks as plan_checks,
    p.budget_micros as plan_budget_micros,
    a.started_at,
    a.ended_at,
    a.outcome,
    a.report_hash,
    a.verdict,
    a.verdict_reason,
    a.cost_micros,
    a.counted_micros,
    clock_timestamp() as now
from expired e
join tasks t on t.plan_id = e.plan_id and t.id = e.id
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
join plans p on p.id = t.plan_id
left join attempts a on a.plan_id = t.plan_id and a.task_id = t.id and a.epoch = t.epoch
order by t.plan_id, t.id
