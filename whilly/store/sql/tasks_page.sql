-- Up to $5 tasks of plan $1 (in status $2, or in any), by priority and id, beyond ($3, $4), each with the newest word
-- about its review.
select t.*, s.spec, r.type as review_event, r.payload as review_payload
from tasks t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
left join lateral (
    select e.type, e.payload from events e
    where e.plan_id = t.plan_id and e.task_id = t.id and e.type like 'human_review.%'
    order by e.id desc limit 1
) r on t.review <> 'none' or t.status = 'HUMAN_LOOP'
where t.plan_id = $1
    and ($2::text is null or t.status = $2)
    and (t.priority, t.id collate "C") > ($3::smallint, $4::text collate "C")
order by t.priority, t.id collate "C"
limit $5
