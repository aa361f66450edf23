-- The token with the public id $1.
select id, kind, plan_id, worker_id, label from tokens where id = $1
