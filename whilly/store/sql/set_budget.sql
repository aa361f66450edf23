-- Sets plan $1's budget to $2 (null: none), with what its running attempts have reserved.
update plans p
set budget_micros = $2,
    budget_exceeded = coalesce(p.spent_micros >= $2, false),
    reserved_micros = case when $2::bigint is null then 0 else (
        select coalesce(sum(t.reserved_micros), 0) from tasks t where t.plan_id = p.id and t.claim_id is not null
    ) end
where p.id = $1
