-- Notes with which agent attempts start, and on which commit.
update attempts a
set started_at = clock_timestamp(), last_seen = clock_timestamp(), phase = 'agent', agent = r.agent,
    agent_version = r.agent_version, model = r.model, base_commit = r.base_commit
from unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
    as r (plan_id, task_id, epoch, agent, agent_version, model, base_commit)
where a.plan_id = r.plan_id and a.task_id = r.task_id and a.epoch = r.epoch
