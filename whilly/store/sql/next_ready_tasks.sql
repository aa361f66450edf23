-- At most $2 tasks of plan $1 that a worker with the agents $3, the tags $5 and the isolation $6 may start now, best
-- first, locked; tasks already held by the claims $4 come with them.
-- The CTE is materialized: inlined into a join, LIMIT with SKIP LOCKED can lock more rows than it returns. All columns
-- come from the row that was locked: read again from the table they would be those of before the wait for the lock.
with candidate as materialized (
    select t.*
    from tasks t
    where t.plan_id = $1
        and (
            select p.paused_reason is null
                and c.paused_reason is null
                and (p.budget_micros is null or p.spent_micros + p.reserved_micros < p.budget_micros)
                and (p.daily_budget_micros is null or spent_today(p) + p.reserved_micros < p.daily_budget_micros)
            from plans p, control c
            where p.id = $1
        )
        and t.status = 'PENDING'
        and t.unmet = 0
        and (t.parked_until is null or t.parked_until <= clock_timestamp())
        and (t.agent = '' or t.agent = any($3::text[]))
        and t.isolation_rung <= $6
        and t.worker_tags <@ $5::text[]
        and (t.review <> 'before' or t.approved)
        and (t.budget_micros is null or t.spent_micros < t.budget_micros)
        and (
            t.key_files = '{}'
            or not exists (
                select from held_files h, unnest(t.key_files) as k (path)
                where h.repository = coalesce(
                        nullif(t.repository, ''), (select nullif(p.repository, '') from plans p where p.id = $1), $1
                    )
                    and (h.path = k.path or starts_with(h.path, k.path || '/') or starts_with(k.path, h.path || '/'))
            )
        )
    order by t.priority, t.position
    limit $2
    for update of t skip locked
),
chosen as (
    select * from candidate
    union all
    select * from tasks where claim_id = any($4::text[])
)
select
    t.*,
    s.spec,
    p.project,
    p.checks as plan_checks,
    p.timeout_minutes as plan_timeout_minutes,
    coalesce(p.budget_micros, p.daily_budget_micros) is not null as plan_budgeted,
    p.repository as plan_repository,
    p.repo_targets,
    coalesce(nullif(t.repository, ''), nullif(p.repository, ''), p.id) as files_in,
    clock_timestamp() as now
from chosen t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
join plans p on p.id = t.plan_id
order by t.priority, t.position
