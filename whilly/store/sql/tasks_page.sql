-- Up to $5 tasks of plan $1 (in status $2, or in any), by priority and id, beyond ($3, $4), each with the newest word
-- about its review. The page is chosen first, so that a long plan is not joined to anything.
with page as materialized (
    select *
    from tasks
    where plan_id = $1
        and ($2::text is null or status = $2)
        and (priority, id collate "C") > ($3::smallint, $4::text collate "C")
    order by priority, id collate "C"
    limit $5
)
select t.*, s.spec, r.type as review_event, r.payload as review_payload
from page t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
left join lateral (
    select e.type, e.payload from events e
    where e.plan_id = t.plan_id and e.task_id = t.id and e.type like 'human_review.%'
    order by e.id desc limit 1
) r on t.review <> 'none' or t.status = 'HUMAN_LOOP'
order by t.priority, t.id collate "C"
