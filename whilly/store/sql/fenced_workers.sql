-- Which of the workers $1 are drained, and their sessions.
select id, session, draining from workers where id = any($1::text[])
