-- Writes what happened: the moved tasks as they are now ($1-$21), and the events that say why ($22-$26), in order.
with moved as (
    update tasks t
    set status = m.status, unmet = m.unmet, epoch = m.epoch, attempts = m.attempts, repairs = m.repairs,
        version = m.version, approved = m.approved, worker_id = m.worker_id, claim_id = m.claim_id,
        claimed_at = m.claimed_at, lease_until = m.lease_until, parked_until = m.parked_until,
        cancel_requested = m.cancel_requested, reserved_micros = m.reserved_micros, spent_micros = m.spent_micros,
        reason = m.reason, blocked_by = m.blocked_by, result_commit = m.result_commit,
        result_branch = m.result_branch, updated_at = clock_timestamp()
    from unnest(
        $1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::bool[],
        $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::bool[],
        $16::bigint[], $17::bigint[], $18::text[], $19::text[], $20::text[], $21::text[]
    ) as m (
        plan_id, id, status, unmet, epoch, attempts, repairs, version, approved, worker_id, claim_id, claimed_at,
        lease_until, parked_until, cancel_requested, reserved_micros, spent_micros, reason, blocked_by,
        result_commit, result_branch
    )
    where t.plan_id = m.plan_id and t.id = m.id
)
insert into events (plan_id, task_id, type, payload, detail)
select e.plan_id, e.task_id, e.type, e.payload::jsonb, e.detail::jsonb
from unnest($22::text[], $23::text[], $24::text[], $25::text[], $26::text[])
    with ordinality as e (plan_id, task_id, type, payload, detail, place)
order by e.place
