"""The first schema: plans, tasks, attempts, the log and who may speak."""

from alembic import op

from whilly.store.migrations.script import run_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
create table plans (
    id text primary key,
    project text not null,
    repository text not null default '',
    agent text not null default '',
    timeout_minutes integer,
    review text not null default 'none',
    checks jsonb not null default '[]',
    origin jsonb,
    repo_targets jsonb not null default '[]',
    budget_micros bigint,
    spent_micros bigint not null default 0,
    reserved_micros bigint not null default 0,
    budget_exceeded boolean not null default false,
    paused_reason text,
    created_at timestamptz not null default clock_timestamp(),
    constraint a_budget_is_not_negative check (budget_micros >= 0),
    constraint spending_is_not_negative check (spent_micros >= 0),
    constraint reservations_are_not_negative check (reserved_micros >= 0)
);

create table tasks (
    plan_id text not null references plans (id) on delete cascade,
    id text not null,
    position integer not null,
    priority smallint not null,
    status text not null default 'PENDING',
    unmet integer not null default 0,
    epoch integer not null default 0,
    first_epoch integer not null default 0,
    attempts integer not null default 0,
    repairs integer not null default 0,
    version integer not null default 0,
    review text not null default 'none',
    approved boolean not null default false,
    agent text not null default '',
    repository text not null default '',
    key_files text[] not null default '{}',
    needs integer not null default 0,
    budget_micros bigint,
    worker_id text,
    claim_id text,
    claimed_at timestamptz,
    lease_until timestamptz,
    parked_until timestamptz,
    cancel_requested boolean not null default false,
    reserved_micros bigint not null default 0,
    spent_micros bigint not null default 0,
    reason text not null default '',
    blocked_by text not null default '',
    result_commit text not null default '',
    result_branch text not null default '',
    updated_at timestamptz not null default clock_timestamp(),
    primary key (plan_id, id),
    constraint a_status_is_one_of_eight check (
        status in ('PENDING', 'CLAIMED', 'IN_PROGRESS', 'HUMAN_LOOP', 'BLOCKED', 'DONE', 'FAILED', 'SKIPPED')
    ),
    constraint a_priority_is_one_of_four check (priority between 0 and 3),
    constraint unmet_prerequisites_are_not_negative check (unmet >= 0),
    constraint only_running_tasks_hold_a_lease check (
        (status in ('CLAIMED', 'IN_PROGRESS')) = (lease_until is not null)
    ),
    constraint a_lease_has_a_worker_and_a_claim check (
        (lease_until is null) = (worker_id is null)
        and (lease_until is null) = (claim_id is null)
        and (lease_until is null) = (claimed_at is null)
    ),
    constraint only_running_tasks_hold_a_reservation check (reserved_micros = 0 or lease_until is not null),
    constraint a_running_task_has_all_its_prerequisites check (lease_until is null or unmet = 0),
    constraint reservations_are_not_negative check (reserved_micros >= 0)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create index tasks_ready on tasks (plan_id, priority, position) where status = 'PENDING' and unmet = 0;
create unique index tasks_claimed on tasks (claim_id) where claim_id is not null;

create table specs (
    plan_id text not null,
    task_id text not null,
    spec jsonb not null,
    primary key (plan_id, task_id),
    foreign key (plan_id, task_id) references tasks (plan_id, id) on delete cascade
);

create table dependencies (
    plan_id text not null,
    task_id text not null,
    needs text not null,
    primary key (plan_id, task_id, needs),
    foreign key (plan_id, task_id) references tasks (plan_id, id) on delete cascade,
    constraint no_task_needs_itself check (task_id <> needs)
);

create index dependants on dependencies (plan_id, needs);

create table held_files (
    repository text not null,
    path text not null,
    plan_id text not null,
    task_id text not null,
    constraint a_file_is_held_by_one_task primary key (repository, path),
    foreign key (plan_id, task_id) references tasks (plan_id, id) on delete cascade
);

create index held_files_by_task on held_files (plan_id, task_id);

create table attempts (
    plan_id text not null,
    task_id text not null,
    epoch integer not null,
    worker_id text not null,
    claimed_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz,
    last_seen timestamptz,
    phase text not null default '',
    last_line text not null default '',
    events_told integer not null default 0,
    used_micros bigint,
    agent text not null default '',
    agent_version text not null default '',
    model text not null default '',
    session text not null default '',
    base_commit text not null default '',
    head_commit text not null default '',
    branch text not null default '',
    kept_ref text not null default '',
    files_changed integer not null default 0,
    outcome text,
    reason text not null default '',
    summary text not null default '',
    comment text not null default '',
    exit_code integer,
    cost_micros bigint,
    counted_micros bigint not null default 0,
    input_tokens bigint not null default 0,
    output_tokens bigint not null default 0,
    cache_read_tokens bigint not null default 0,
    cache_write_tokens bigint not null default 0,
    checks jsonb not null default '[]',
    report_hash bytea,
    verdict text,
    verdict_reason text not null default '',
    primary key (plan_id, task_id, epoch),
    foreign key (plan_id, task_id) references tasks (plan_id, id) on delete cascade,
    constraint an_ended_attempt_has_an_outcome check ((ended_at is null) = (outcome is null))
);

create table transcripts (
    plan_id text not null,
    task_id text not null,
    epoch integer not null,
    number integer not null,
    text text not null,
    primary key (plan_id, task_id, epoch, number),
    foreign key (plan_id, task_id) references tasks (plan_id, id) on delete cascade
);

create table workers (
    id text primary key,
    hostname text not null,
    agents text[] not null default '{}',
    isolation text not null default 'clone',
    plan_id text,
    registered_at timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    left_at timestamptz
);

create table control (
    id integer primary key default 1,
    paused_reason text,
    constraint there_is_one_control_row check (id = 1)
);

insert into control default values;

create table tokens (
    id text primary key,
    kind text not null,
    hash bytea not null,
    plan_id text,
    worker_id text,
    parent text references tokens (id) on delete cascade,
    label text not null default '',
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    constraint a_token_is_known_by_its_hash unique (hash)
);

create table logins (
    hash bytea primary key,
    label text not null default '',
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz
);

create table events (
    id bigint generated always as identity primary key,
    plan_id text not null,
    task_id text,
    type text not null,
    payload jsonb not null default '{}',
    detail jsonb,
    at timestamptz not null default clock_timestamp()
);

create index events_of_a_task on events (plan_id, task_id, id);

create table events_pending (
    event_id bigint primary key
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create table event_log (
    position bigint primary key,
    event_id bigint not null,
    hash bytea not null
);

create table cursors (
    name text primary key,
    position bigint not null,
    updated_at timestamptz not null default clock_timestamp()
);

"""

LOG_RULES = """create function queue_events_for_the_log() returns trigger language plpgsql as $$
begin
    insert into events_pending (event_id) select id from fresh;
    return null;
end
$$;

create trigger every_event_gets_a_position after insert on events
    referencing new table as fresh for each statement execute function queue_events_for_the_log();

create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only: % is refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end
$$;

create trigger events_are_append_only before update or delete or truncate on events
    for each statement execute function refuse_to_rewrite_history();

create trigger the_log_is_append_only before update or delete or truncate on event_log
    for each statement execute function refuse_to_rewrite_history();
"""


def upgrade() -> None:
    run_script(TABLES + LOG_RULES)


def downgrade() -> None:
    op.execute(
        "drop table cursors, event_log, events_pending, events, logins, tokens, control, workers, transcripts, "
        "attempts, held_files, dependencies, specs, tasks, plans"
    )
    op.execute("drop function queue_events_for_the_log(), refuse_to_rewrite_history()")
