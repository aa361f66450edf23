-- What plan $1 says about itself, anew.
update plans
set project = $2, agent = $3, timeout_minutes = $4, review = $5, checks = $6, origin = $7, repo_targets = $8,
    budget_micros = $9, daily_budget_micros = $10, worker_tags = $11, isolation = $12
where id = $1
