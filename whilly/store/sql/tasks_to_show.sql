-- Up to $2 tasks of plan $1 for a page: those that wait for a person, run, or come next; finished ones last.
select id from tasks
where plan_id = $1
order by
    case status
        when 'HUMAN_LOOP' then 0 when 'BLOCKED' then 1 when 'FAILED' then 2
        when 'IN_PROGRESS' then 3 when 'CLAIMED' then 3 when 'PENDING' then 4 else 5
    end,
    case when status = 'PENDING' then unmet else 0 end, priority, position
limit $2
