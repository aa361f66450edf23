"""What workers can do, what tasks want of them, and results that travel as bundles."""

from whilly.store.migrations.script import run_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

WORKERS_UP = """
alter table workers
    add column versions jsonb not null default '{}',
    add column tags text[] not null default '{}',
    add column slots integer not null default 1,
    add column free_disk_bytes bigint,
    add column state text not null default '',
    add column incarnation text not null default '',
    add column session integer not null default 0,
    add column draining boolean not null default false;

alter table plans
    add column worker_tags text[] not null default '{}',
    add column isolation text not null default '';

alter table tasks
    add column worker_tags text[] not null default '{}',
    add column isolation_rung smallint not null default 0;

create index attempts_to_cancel on tasks (worker_id) where cancel_requested and claim_id is not null;

create table published_address (
    id integer primary key default 1,
    url text not null,
    published_at timestamptz not null default clock_timestamp(),
    constraint there_is_one_published_address check (id = 1)
);
"""

WORKERS_DOWN = """
drop table published_address;
drop index attempts_to_cancel;
alter table tasks drop column worker_tags, drop column isolation_rung;
alter table plans drop column worker_tags, drop column isolation;
alter table workers
    drop column versions,
    drop column tags,
    drop column slots,
    drop column free_disk_bytes,
    drop column state,
    drop column incarnation,
    drop column session,
    drop column draining;
"""

BUNDLES_UP = """
create table bundles (
    plan_id text not null,
    task_id text not null,
    epoch integer not null,
    commit_id text not null,
    size_bytes bigint not null,
    sha256 bytea not null,
    sealed_at timestamptz,
    primary key (plan_id, task_id, epoch),
    foreign key (plan_id, task_id, epoch) references attempts (plan_id, task_id, epoch) on delete cascade,
    constraint a_bundle_is_not_empty check (size_bytes > 0)
);

create table bundle_parts (
    plan_id text not null,
    task_id text not null,
    epoch integer not null,
    number integer not null,
    data bytea not null,
    primary key (plan_id, task_id, epoch, number),
    foreign key (plan_id, task_id, epoch) references bundles (plan_id, task_id, epoch) on delete cascade
);

-- Packs do not become smaller.
alter table bundle_parts alter column data set storage external;
"""

BUNDLES_DOWN = """
drop table bundle_parts;
drop table bundles;
"""

UP = WORKERS_UP + BUNDLES_UP

DOWN = BUNDLES_DOWN + WORKERS_DOWN


def upgrade() -> None:
    run_script(UP)


def downgrade() -> None:
    run_script(DOWN)
