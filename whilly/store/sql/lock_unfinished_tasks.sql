-- Locks all tasks of plan $1 that may run now or later, in one order: nobody claims or ends an attempt meanwhile.
select count(*)
from (
    select from tasks
    where plan_id = $1 and status in ('PENDING', 'CLAIMED', 'IN_PROGRESS')
    order by plan_id, id
    for update
) t
