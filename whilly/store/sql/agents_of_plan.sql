-- The agents that the tasks of plan $1 name.
select distinct agent from tasks where plan_id = $1 and agent <> '' order by agent
