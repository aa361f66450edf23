-- Pauses plan $1 with reason $2, or resumes it with null.
update plans set paused_reason = $2 where id = $1 returning id
