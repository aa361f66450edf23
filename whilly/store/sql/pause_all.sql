-- Pauses everything with reason $1, or resumes it with null.
update control set paused_reason = $1 returning id
