-- Writes how attempts ended ($1: one JSON object each); says which of their plans have a budget now.
update attempts a
set ended_at = coalesce(a.ended_at, clock_timestamp()), last_seen = clock_timestamp(), phase = '', outcome = r.outcome,
    reason = r.reason, summary = r.summary, agent = coalesce(nullif(r.agent, ''), a.agent),
    agent_version = coalesce(nullif(r.agent_version, ''), a.agent_version),
    model = coalesce(nullif(r.model, ''), a.model), session = r.session,
    base_commit = coalesce(nullif(r.base_commit, ''), a.base_commit), head_commit = r.head_commit, branch = r.branch,
    kept_ref = r.kept_ref, files_changed = r.files_changed, exit_code = r.exit_code, cost_micros = r.cost_micros,
    counted_micros = r.counted_micros, input_tokens = r.input_tokens, output_tokens = r.output_tokens,
    cache_read_tokens = r.cache_read_tokens, cache_write_tokens = r.cache_write_tokens, checks = r.checks,
    report_hash = decode(r.report_hash, 'hex'), verdict = r.verdict, verdict_reason = r.verdict_reason
from jsonb_to_recordset($1::jsonb) as r (
    plan_id text, task_id text, epoch int, outcome text, reason text, summary text, agent text, agent_version text,
    model text, session text, base_commit text, head_commit text, branch text, kept_ref text, files_changed int,
    exit_code int, cost_micros bigint, counted_micros bigint, input_tokens bigint, output_tokens bigint,
    cache_read_tokens bigint, cache_write_tokens bigint, checks jsonb, report_hash text, verdict text,
    verdict_reason text
)
where a.plan_id = r.plan_id and a.task_id = r.task_id and a.epoch = r.epoch
returning a.plan_id, (
    select coalesce(p.budget_micros, p.daily_budget_micros) is not null from plans p where p.id = a.plan_id
) as budgeted
