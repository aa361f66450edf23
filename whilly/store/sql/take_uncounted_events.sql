-- Moves the cursor of the tallies on by $1 events at most; gives what is counted of those passed, in groups.
-- No row at all: another process counts now. A group without a type: events passed, nothing to count among them.
with before as materialized (
    select position from cursors where name = 'tallies' for update skip locked
),
fresh as materialized (
    select l.position, e.type, e.plan_id, e.payload
    from before b
    join event_log l on l.position > b.position and l.position <= b.position + $1
    join events e on e.id = l.event_id
),
moved as (
    update cursors c
    set position = coalesce((select max(position) from fresh), c.position), updated_at = clock_timestamp()
    from before b
    where c.name = 'tallies'
    returning c.position - b.position as passed
)
select m.passed, g.type, g.plan_id, g.worker_id, g.reason, g.required, coalesce(g.count, 0) as count
from moved m
left join (
    select
        f.type, f.plan_id, f.payload ->> 'worker_id' as worker_id,
        case when f.type = 'task.blocked' then f.payload ->> 'outcome' else f.payload ->> 'reason' end as reason,
        f.payload ->> 'required' as required,
        count(*) as count
    from fresh f
    where f.type in (
        'CLAIM', 'COMPLETE', 'FAIL', 'RELEASE', 'task.blocked', 'verification.failed', 'verification.warning'
    )
    group by 1, 2, 3, 4, 5
) g on true
