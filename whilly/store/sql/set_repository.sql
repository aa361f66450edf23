-- Sets the local repository of plan $1.
update plans set repository = $2 where id = $1 returning id
