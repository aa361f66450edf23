-- Books what ended attempts cost ($2) and frees what they had reserved ($3); says where a budget was used up just now.
with before as (
    select p.id, p.budget_exceeded, b.cost, b.freed
    from unnest($1::text[], $2::bigint[], $3::bigint[]) as b (plan_id, cost, freed)
    join plans p on p.id = b.plan_id
    order by p.id
    for update of p
)
update plans p
set spent_micros = greatest(p.spent_micros + b.cost, 0),
    reserved_micros = greatest(p.reserved_micros - b.freed, 0),
    budget_exceeded = coalesce(p.spent_micros + b.cost >= p.budget_micros, false)
from before b
where p.id = b.id
returning p.id, p.budget_micros, p.spent_micros, p.budget_exceeded and not b.budget_exceeded as crossed
