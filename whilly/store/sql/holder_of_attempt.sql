-- Who works on attempt $3 of task $2 of plan $1 now; no row when that attempt is over.
select worker_id from tasks where plan_id = $1 and id = $2 and epoch = $3 and claim_id is not null
