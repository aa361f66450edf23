-- The money of plan $1, locked.
select
    p.budget_micros as plan_budget_micros, p.spent_micros as plan_spent_micros,
    p.reserved_micros as plan_reserved_micros, p.daily_budget_micros as plan_daily_budget_micros,
    spent_today(p) as plan_spent_today_micros, p.asks_about_budget
from plans p
where p.id = $1
for update
