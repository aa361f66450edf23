-- Removes plan $1 with its tasks and attempts; the log keeps what happened.
delete from plans where id = $1
