-- The row of plan $1, locked.
select * from plans where id = $1 for update
