-- Lets plan $1 go on if it is paused for its budget.
update plans set paused_reason = null, asks_about_budget = false where id = $1 and asks_about_budget returning id
