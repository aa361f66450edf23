"""Every wrong fence is found by name, with the shortest way to the broken promise; the right rules have none."""

from dataclasses import replace

import pytest

from tests.builders import a_plan, a_task, claimed, finished, running
from tests.model.queue_model import Rules
from tests.model.search import counter_example, first_surprise
from whilly.operations.import_plan import import_plan
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database

RIGHT = Rules()


@pytest.mark.parametrize(
    "rules",
    [
        RIGHT,
        replace(RIGHT, money=1, tasks=2),
        replace(RIGHT, money=3, tasks=2),
        replace(RIGHT, tasks=2, most_claims=2),
        replace(RIGHT, people=True, most_claims=2),
        replace(RIGHT, workers=3, most_claims=2),
    ],
    ids=[
        "one task",
        "two tasks, money for one",
        "two tasks, money for three",
        "two tasks",
        "people steer",
        "three workers",
    ],
)
def test_the_right_rules_break_no_promise(rules: Rules) -> None:
    broken, way, states = counter_example(rules)

    assert broken == "", " → ".join(way)
    assert states > 20, "a model that goes nowhere proves nothing"


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (replace(RIGHT, fence="none"), "an attempt that was over was believed"),
        (replace(RIGHT, fence="state"), "an attempt that was over"),
        (replace(RIGHT, fence="owner"), "an attempt that was over"),
        (replace(RIGHT, sweep="read, then write"), "a finished task was taken back"),
        (replace(RIGHT, sweep="unguarded"), "a worker that had just been heard lost its task"),
        (replace(RIGHT, budget="checked", money=1, tasks=2), "more was spent than the budget"),
        (replace(RIGHT, lease_from="now"), "a worker that had just been heard lost its task"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_wrong_rule_is_found(rules: Rules, broken: str) -> None:
    found, way, _ = counter_example(rules)

    assert broken in found, " → ".join(way)
    assert 0 < len(way) <= 8, " → ".join(way)


def test_the_way_to_a_double_result_is_the_one_that_was_measured() -> None:
    """Pause, expiry, another worker, and the first one comes back: 11 of 4,000 tasks without epochs went through it."""
    _, way, _ = counter_example(replace(RIGHT, fence="state"))

    assert way == ["CLAIM T1 by w1", "time passes", "RELEASE T1 by sweep", "CLAIM T1 by w1", "START T1 by w1"]


async def test_the_real_queue_takes_only_steps_of_the_model(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A")))
    await running(database)
    async with database.connection() as connection:
        await connection.execute("update tasks set lease_until = clock_timestamp() - interval '1 s'")
    await sweep_leases(database)
    async with database.connection() as connection:
        await connection.execute("update tasks set parked_until = null")
    again = await claimed(database)
    assert again is not None
    await finished(database, again.key)
    async with database.connection() as connection:
        rows = await connection.fetch("select type from events where task_id = 'A' order by id")

    told = [row["type"] for row in rows if row["type"] != "task.created"]

    assert told == ["CLAIM", "START", "RELEASE", "CLAIM", "COMPLETE"]
    assert first_surprise(told) == ""


@pytest.mark.parametrize(
    ("told", "surprise"),
    [
        (["CLAIM", "CLAIM"], "CLAIM after CLAIM"),
        (["CLAIM", "START", "COMPLETE", "COMPLETE"], "COMPLETE after CLAIM, START, COMPLETE"),
        (["START"], "START after nothing"),
        (["CLAIM", "RELEASE", "START"], "START after CLAIM, RELEASE"),
    ],
)
def test_a_trace_that_cannot_be_is_noticed(told: list[str], surprise: str) -> None:
    assert first_surprise(told) == surprise
