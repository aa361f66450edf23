"""Caps on what a day may cost, a plan that asks about its budget, and what happened so far, counted."""

from whilly.store.migrations.script import run_script

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

UP = """
alter table plans
    add column daily_budget_micros bigint,
    add column day date,
    add column day_spent_micros bigint not null default 0,
    add column asks_about_budget boolean not null default false,
    add constraint a_daily_budget_is_not_negative check (daily_budget_micros >= 0),
    add constraint spending_of_a_day_is_not_negative check (day_spent_micros >= 0),
    add constraint only_a_paused_plan_asks_about_its_budget check (not asks_about_budget or paused_reason is not null);

create function spent_today(p plans) returns bigint language sql as $$
    select case when p.day = (clock_timestamp() at time zone 'utc')::date then p.day_spent_micros else 0 end
$$;

create table tallies (
    name text not null,
    labels text[] not null,
    value double precision not null,
    at timestamptz not null default clock_timestamp(),
    primary key (name, labels)
);

create index latest_tallies on tallies (at desc);

insert into cursors (name, position) values ('tallies', 0);
"""

DOWN = """
drop table tallies;
delete from cursors where name = 'tallies';
drop function spent_today(plans);
update plans set paused_reason = null where asks_about_budget;
alter table plans
    drop constraint only_a_paused_plan_asks_about_its_budget,
    drop constraint spending_of_a_day_is_not_negative,
    drop constraint a_daily_budget_is_not_negative,
    drop column asks_about_budget,
    drop column day_spent_micros,
    drop column day,
    drop column daily_budget_micros;
"""


def upgrade() -> None:
    run_script(UP)


def downgrade() -> None:
    run_script(DOWN)
