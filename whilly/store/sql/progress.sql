-- How far plan $1 is, as a worker with the agents $2, the tags $3 and the isolation $4 sees it.
select
    count(*) filter (where t.claim_id is not null) as running,
    count(*) filter (where r.ready and r.served and not r.spent_up and not r.parked) as ready,
    count(*) filter (where r.ready and r.served and not r.spent_up and r.parked) as parked,
    min(t.parked_until) filter (where r.ready and r.served and not r.spent_up and r.parked) as parked_until,
    count(*) filter (where r.ready and not r.served) as unserved,
    min(t.agent) filter (where r.ready and not r.served and t.agent <> '' and t.agent <> all($2::text[]))
        as unserved_agent,
    min(array_to_string(t.worker_tags, ', ')) filter (where r.ready and not t.worker_tags <@ $3::text[])
        as unserved_tags,
    max(t.isolation_rung) filter (where r.ready and t.isolation_rung > $4) as unserved_rung,
    count(*) filter (where r.ready and r.served and r.spent_up) as spent_up,
    count(*) filter (where t.status = 'PENDING') as pending,
    count(*) filter (where t.status = 'HUMAN_LOOP') as waiting_for_person,
    min(t.id) filter (where t.status = 'HUMAN_LOOP') as waiting_task,
    count(*) filter (where t.status = 'BLOCKED') as blocked,
    count(*) filter (where t.status = 'FAILED') as failed,
    count(*) filter (where t.status = 'DONE') as done,
    count(*) filter (where t.status = 'SKIPPED') as skipped,
    coalesce(array_agg(t.id order by t.claimed_at) filter (where t.claim_id is not null), '{}') as running_tasks,
    min(p.spent_micros) as spent_micros,
    min(p.budget_micros) as budget_micros,
    min(spent_today(p)) as spent_today_micros,
    min(p.daily_budget_micros) as daily_budget_micros,
    coalesce(bool_or(p.spent_micros + p.reserved_micros >= p.budget_micros), false) as plan_spent_up,
    coalesce(bool_or(spent_today(p) + p.reserved_micros >= p.daily_budget_micros), false) as day_spent_up,
    coalesce(bool_or(p.asks_about_budget), false) as asks_about_budget,
    min(coalesce(p.paused_reason, c.paused_reason)) as paused,
    coalesce(bool_or(p.paused_reason is not null), false) as plan_is_paused
from plans p
cross join control c
left join tasks t on t.plan_id = p.id
left join lateral (
    select
        t.status = 'PENDING' and t.unmet = 0 as ready,
        (t.agent = '' or t.agent = any($2::text[])) and t.worker_tags <@ $3::text[] and t.isolation_rung <= $4
            as served,
        coalesce(t.spent_micros >= t.budget_micros, false) as spent_up,
        coalesce(t.parked_until > clock_timestamp(), false) as parked
) r on true
where p.id = $1
