-- Takes tasks that have not started out of plan $1.
delete from tasks where plan_id = $1 and id = any($2::text[])
