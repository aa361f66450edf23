"""A long past and a long future, written straight into the tables."""

from bench.plans import WIDTH, layered
from whilly.operations.import_plan import import_plan
from whilly.store.database import Database
from whilly.store.specs import to_json

AT_ONCE = 200_000
OLD_PLAN = "long-ago"

TASKS = """
insert into tasks (plan_id, id, position, priority, unmet, needs)
select $1::text, 'TASK-' || lpad(n::text, 7, '0'), n, t.priority + n % 2, 2 * (1 - n % 2), 2 * (1 - n % 2)
from tasks t, generate_series($2::int, $3::int) n
where t.plan_id = $1 and t.position = 0
"""

SPECS = """
insert into specs (plan_id, task_id, spec)
select t.plan_id, t.id, jsonb_set(
    jsonb_set($4::jsonb, '{id}', to_jsonb(t.id)), '{dependencies}', coalesce(jsonb_agg(d.needs), '[]')
)
from tasks t
left join dependencies d on d.plan_id = t.plan_id and d.task_id = t.id
where t.plan_id = $1 and t.position between $2 and $3
group by t.plan_id, t.id
"""

DEPENDENCIES = """
insert into dependencies (plan_id, task_id, needs)
select $1::text, 'TASK-' || lpad(n::text, 7, '0'), 'TASK-' || lpad((n - $4 + ahead)::text, 7, '0')
from generate_series($2::int, $3::int) n, unnest(array[0, 2]) ahead
where n % 2 = 0
"""

EVENTS = """
insert into events (plan_id, task_id, type, payload)
select $1::text, 'TASK-' || lpad((n / 3)::text, 7, '0'),
    (array['task.claimed', 'task.started', 'task.completed'])[1 + n % 3],
    jsonb_build_object('plan_id', $1::text, 'task_id', 'TASK-' || lpad((n / 3)::text, 7, '0'), 'version', n % 3 + 1)
from generate_series($2::int, $3::int) n
"""

NUMBERED = """
with old as (
    delete from events_pending returning event_id
)
insert into event_log (position, event_id, hash)
select event_id, event_id, sha256(event_id::text::bytea) from old order by event_id
"""


OLD_EVENTS = """
insert into events (id, plan_id, task_id, type, payload) overriding system value
select n, 'plan-' || n / 10000, 'TASK-' || lpad((n % 10000 / 3)::text, 7, '0'),
    (array['CLAIM', 'START', 'COMPLETE'])[1 + n % 3],
    jsonb_build_object('plan_id', 'plan-' || n / 10000, 'task_id', 'TASK-' || n % 10000 / 3, 'version', n % 3 + 1)
from generate_series($1::bigint, $2::bigint) n
"""

OLD_PLACES = """
insert into event_log (position, event_id, hash)
select n, n, sha256(n::text::bytea) from generate_series($1::bigint, $2::bigint) n
"""


async def fill_backlog(database: Database, plan: str, tasks: int) -> None:
    """A plan of so many pending tasks in seconds: the first layers as `layered` makes them, then every other task waits
    for two and every other one is ready, but of a lower priority.
    """
    first = min(tasks, 2 * WIDTH)
    await import_plan(database, layered(plan, first))
    sample = to_json(layered("sample", first).tasks[-1])
    async with database.connection() as connection:
        for start in range(first, tasks, AT_ONCE):
            end = min(start + AT_ONCE, tasks) - 1
            await connection.execute(TASKS, plan, start, end)
            await connection.execute(DEPENDENCIES, plan, start, end, 2 * WIDTH)
            await connection.execute(SPECS, plan, start, end, sample)
        await connection.execute("vacuum analyze")


async def fill_history(database: Database, events: int) -> None:
    """So many old events of a plan that is gone, each in its place of the log."""
    async with database.connection() as connection:
        for start in range(0, events, AT_ONCE):
            await connection.execute(EVENTS, OLD_PLAN, start, min(start + AT_ONCE, events) - 1)
            await connection.execute(NUMBERED)
        await connection.execute("vacuum analyze")


async def tell_of_old(database: Database, events: int) -> None:
    """So many old events of a plan that is gone, for a running control plane to place in the log."""
    async with database.connection() as connection:
        await connection.execute(EVENTS, OLD_PLAN, 0, events - 1, timeout=120)


async def fill_log(database: Database, events: int) -> None:
    """So many events of 1,000 plans that are gone, with their places. Triggers are off meanwhile: they would queue each
    event, and refuse what does not come from the sequencer.
    """
    async with database.connection() as connection:
        await connection.execute("set synchronous_commit = off")
        await connection.execute("alter table events disable trigger user")
        for start in range(1, events + 1, 5 * AT_ONCE):
            end = min(start + 5 * AT_ONCE - 1, events)
            await connection.execute(OLD_EVENTS, start, end, timeout=600)
            await connection.execute(OLD_PLACES, start, end, timeout=600)
        await connection.execute("select setval(pg_get_serial_sequence('events', 'id'), $1::bigint)", events)
        await connection.execute("alter table events enable trigger user")
        await connection.execute("reset synchronous_commit")
        await connection.execute("vacuum (analyze, parallel 0)", timeout=600)
        await connection.execute("checkpoint", timeout=600)
