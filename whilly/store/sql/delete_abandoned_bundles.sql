-- Removes what attempts that are over have left of bundles that never became whole.
delete from bundles b
where b.sealed_at is null
    and not exists (
        select from tasks t
        where t.plan_id = b.plan_id and t.id = b.task_id and t.epoch = b.epoch and t.claim_id is not null
    )
