-- What the tasks $2 of plan $1 take over from it ($3 reviews, $4 agents, $5 tags with commas, $6 rungs), and their
-- order, where it differs.
update tasks t
set review = d.review, agent = d.agent, worker_tags = d.tags, isolation_rung = d.rung, position = d.place - 1
from (
    select id, review, agent, string_to_array(tags, ',') as tags, rung, place
    from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[])
        with ordinality as r (id, review, agent, tags, rung, place)
) d
where t.plan_id = $1 and t.id = d.id
    and (t.review, t.agent, t.worker_tags, t.isolation_rung, t.position)
        is distinct from (d.review, d.agent, d.tags, d.rung, (d.place - 1)::int)
