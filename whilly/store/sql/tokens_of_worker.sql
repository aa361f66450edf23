-- The tokens of worker $1, whether they are good or not.
select id from tokens where worker_id = $1 order by created_at
