-- Pauses plan $1 with reason $2, or resumes it with null; whichever, a person has answered it about its budget.
update plans set paused_reason = $2, asks_about_budget = false where id = $1 returning id
