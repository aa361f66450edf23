-- Sets the local repository of plan $1 to $2, unless its tasks are running in another one; says where it is then.
with before as (
    select p.id, p.repository, (
        p.repository not in ('', $2)
        and exists (select from tasks t where t.plan_id = p.id and t.claim_id is not null and t.repository = '')
    ) as busy
    from plans p
    where p.id = $1
    for update
),
changed as (
    update plans p set repository = $2 from before b where p.id = b.id and not b.busy
)
select repository, busy from before
