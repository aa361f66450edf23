-- Notes that events up to number $4 of a running attempt are being stored; gives the number stored before.
with running as (
    select a.plan_id, a.task_id, a.epoch, a.events_told
    from tasks t
    join attempts a on a.plan_id = t.plan_id and a.task_id = t.id and a.epoch = t.epoch
    where t.plan_id = $1 and t.id = $2 and t.epoch = $3 and t.claim_id is not null
    for update of a
)
update attempts a
set events_told = greatest(a.events_told, $4)
from running r
where a.plan_id = r.plan_id and a.task_id = r.task_id and a.epoch = r.epoch
returning r.events_told as before
