-- A new plan.
insert into plans (
    id, project, agent, timeout_minutes, review, checks, origin, repo_targets, budget_micros, daily_budget_micros,
    worker_tags, isolation
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
