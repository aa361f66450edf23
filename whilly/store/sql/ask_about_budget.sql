-- Pauses plan $1 with the question $2, unless it is paused already or nothing of it is left to do.
update plans p
set paused_reason = $2, asks_about_budget = true
where p.id = $1
    and p.paused_reason is null
    and exists (
        select from tasks t where t.plan_id = p.id and t.status in ('PENDING', 'CLAIMED', 'IN_PROGRESS')
    )
returning p.id
