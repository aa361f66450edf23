-- Up to $2 tasks of plan $1 that only a person can bring further, each with its newest ended attempt.
select t.id, t.status, t.reason, t.blocked_by, t.result_branch, t.result_commit, s.spec,
    a.epoch, a.summary, a.files_changed, a.cost_micros, a.checks, a.kept_ref, a.agent
from tasks t
join specs s on s.plan_id = t.plan_id and s.task_id = t.id
left join lateral (
    select * from attempts a
    where a.plan_id = t.plan_id and a.task_id = t.id and a.ended_at is not null
    order by a.epoch desc limit 1
) a on true
where t.plan_id = $1
    and (t.status in ('HUMAN_LOOP', 'FAILED') or t.status = 'BLOCKED' and t.blocked_by = '')
order by array_position(array['HUMAN_LOOP', 'BLOCKED', 'FAILED'], t.status), t.position
limit $2
