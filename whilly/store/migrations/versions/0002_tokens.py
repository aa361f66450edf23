"""Tokens of more kinds, with uses and offspring, and the control plane's own keys."""

from whilly.store.migrations.script import run_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

UP = """
alter table tokens
    add column uses integer not null default 0,
    add column uses_allowed integer,
    add constraint a_token_is_used_no_more_often_than_allowed check (uses between 0 and coalesce(uses_allowed, uses)),
    add constraint a_bootstrap_token_ends check (
        kind <> 'bootstrap' or (expires_at is not null and uses_allowed is not null)
    );

create index tokens_by_parent on tokens (parent) where parent is not null;
create index tokens_of_a_worker on tokens (worker_id) where worker_id is not null;

create table own_keys (
    name text primary key,
    secret bytea not null,
    made_at timestamptz not null default clock_timestamp()
);
"""

DOWN = """
drop table own_keys;
drop index tokens_of_a_worker, tokens_by_parent;
delete from tokens where kind = 'bootstrap';
alter table tokens
    drop constraint a_bootstrap_token_ends,
    drop constraint a_token_is_used_no_more_often_than_allowed,
    drop column uses_allowed,
    drop column uses;
"""


def upgrade() -> None:
    run_script(UP)


def downgrade() -> None:
    run_script(DOWN)
