-- The transcript of one attempt, in pieces, in order.
select number, text from transcripts where plan_id = $1 and task_id = $2 and epoch = $3 order by number
