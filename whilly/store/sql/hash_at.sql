-- The hash of the event at position $1.
select hash from event_log where position = $1
