-- What the tasks $2 of plan $1 take over from it ($3 reviews, $4 agents), and their order, where it differs.
update tasks t
set review = d.review, agent = d.agent, position = d.place - 1
from unnest($2::text[], $3::text[], $4::text[]) with ordinality as d (id, review, agent, place)
where t.plan_id = $1 and t.id = d.id
    and (t.review, t.agent, t.position) is distinct from (d.review, d.agent, (d.place - 1)::int)
