-- The repo targets of plan $1, and which of them its unfinished tasks name ('' for none); no row when there is no plan.
select p.repo_targets,
    coalesce(
        (
            select array_agg(distinct t.repository)
            from tasks t
            where t.plan_id = p.id and t.status not in ('DONE', 'FAILED', 'SKIPPED')
        ),
        '{}'
    ) as used
from plans p
where p.id = $1
