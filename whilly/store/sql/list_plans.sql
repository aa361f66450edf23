-- All plans (or plan $1), newest first, with how many tasks they have in each status.
select
    p.id, p.project, p.budget_micros, p.spent_micros, p.reserved_micros, p.repository,
    p.daily_budget_micros, spent_today(p) as spent_today_micros, p.asks_about_budget,
    coalesce(p.paused_reason, c.paused_reason) as paused,
    coalesce(n.statuses, '{}') as statuses,
    coalesce(n.counts, '{}') as counts
from plans p
cross join control c
left join lateral (
    select array_agg(s.status) as statuses, array_agg(s.count) as counts
    from (select t.status, count(*) as count from tasks t where t.plan_id = p.id group by t.status) s
) n on true
where $1::text is null or p.id = $1
order by p.created_at desc, p.id
