-- Sets plan $1's budget to $2 and its daily one to $3 (null: none), with what its running attempts have reserved.
update plans p
set budget_micros = $2,
    daily_budget_micros = $3,
    budget_exceeded = coalesce(p.spent_micros >= $2, false),
    reserved_micros = case when coalesce($2::bigint, $3::bigint) is null then 0 else (
        select coalesce(sum(t.reserved_micros), 0) from tasks t where t.plan_id = p.id and t.claim_id is not null
    ) end
where p.id = $1
