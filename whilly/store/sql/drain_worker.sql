-- Worker $1 shall take no more tasks, or ($2 false) take tasks again.
update workers set draining = $2 where id = $1 returning id
