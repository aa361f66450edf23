-- Books what ended attempts cost ($2), also for today, and frees what they had reserved ($3); gives each plan's money
-- as it was before and as it is now.
with before as (
    select
        p.*, spent_today(p) as spent_today_micros, (clock_timestamp() at time zone 'utc')::date as today, b.cost, b.freed
    from unnest($1::text[], $2::bigint[], $3::bigint[]) as b (plan_id, cost, freed)
    join plans p on p.id = b.plan_id
    order by p.id
    for update of p
)
update plans p
set spent_micros = greatest(b.spent_micros + b.cost, 0),
    reserved_micros = greatest(b.reserved_micros - b.freed, 0),
    day = b.today,
    day_spent_micros = greatest(b.spent_today_micros + b.cost, 0),
    budget_exceeded = coalesce(b.spent_micros + b.cost >= b.budget_micros, false)
from before b
where p.id = b.id
returning p.id, p.day, p.budget_micros, p.daily_budget_micros, b.spent_micros as spent_before,
    p.spent_micros as spent_after, b.spent_today_micros as spent_today_before, p.day_spent_micros as spent_today_after
