-- The given attempts ($3: epochs) with their tasks, locked in one order, and what their plans ask of them.
select
    t.*,
    r.epoch as asked_epoch,
    s.spec -> 'checks' as task_checks,
    p.checks as plan_checks,
    a.started_at,
    a.ended_at,
    a.outcome,
    a.report_hash,
    a.verdict,
    a.verdict_reason,
    a.cost_micros,
    a.counted_micros,
    clock_timestamp() as now
from unnest($1::text[], $2::text[], $3::int[]) as r (plan_id, task_id, epoch)
join tasks t on t.plan_id = r.plan_id and t.id = r.task_id
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
join plans p on p.id = t.plan_id
left join attempts a on a.plan_id = r.plan_id and a.task_id = r.task_id and a.epoch = r.epoch
order by t.plan_id, t.id
for update of t
