-- The $1 tallies that changed last, newest first.
select name, labels, value, at from tallies order by at desc limit $1
