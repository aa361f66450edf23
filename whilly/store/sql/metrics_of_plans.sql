-- The money of the plans $1 and of the $2 newest ones; how many plans there are besides.
with wanted as materialized (
    select id from unnest($1::text[]) as w (id)
    union
    (select id from plans order by created_at desc limit $2)
)
select
    p.id, p.created_at, p.budget_micros, p.spent_micros, p.reserved_micros, p.daily_budget_micros,
    spent_today(p) as spent_today_micros,
    (select count(*) from plans) as plans
from wanted w
join plans p on p.id = w.id
