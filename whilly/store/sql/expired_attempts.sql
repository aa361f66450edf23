-- Up to 50 attempts whose lease ran out, their tasks locked; others that are being finished now are left alone.
with expired as materialized (
    select plan_id, id, epoch
    from tasks
    where claim_id is not null and lease_until < clock_timestamp()
    order by plan_id, id
    limit 50
    for update skip locked
)
select plan_id, id, epoch from expired
