"""Every wrong fence is found by name, with the shortest way to the broken promise; the right rules have none."""

from collections import deque
from dataclasses import replace

import pytest

from tests.builders import a_plan, a_task, claimed, finished, running
from tests.model.queue_model import Rules, State, Step, start, steps
from whilly.operations.import_plan import import_plan
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database

MOST_STATES = 200_000


def search(rules: Rules) -> tuple[list[Step], int]:
    """The shortest way to a broken promise (empty when there is none), and how many states were looked at."""
    first = start(rules)
    reached: dict[State, tuple[State, Step] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for step in steps(state, rules):
            if step.broken:
                return [*_way_to(state, reached), step], len(reached)
            if step.after not in reached:
                reached[step.after] = (state, step)
                waiting.append(step.after)
        assert len(reached) < MOST_STATES, "the model is too large to look at all of it"
    return [], len(reached)


def _way_to(state: State, reached: dict[State, tuple[State, Step] | None]) -> list[Step]:
    way: list[Step] = []
    while (came := reached[state]) is not None:
        state, step = came
        way.insert(0, step)
    return way


RIGHT = Rules()


@pytest.mark.parametrize(
    "rules",
    [
        RIGHT,
        replace(RIGHT, money=1, tasks=2),
        replace(RIGHT, money=2, tasks=2, most_claims=2),
        replace(RIGHT, people=True, most_claims=2),
        replace(RIGHT, workers=3, most_claims=2),
    ],
    ids=["one task", "two tasks, money for one", "two tasks, money for two", "people steer", "three workers"],
)
def test_the_right_rules_break_no_promise(rules: Rules) -> None:
    way, states = search(rules)

    assert way == [], _told(way)
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
    way, _ = search(rules)

    assert way, "the wrong rule was not found"
    assert broken in way[-1].broken, _told(way)
    assert len(way) <= 8, _told(way)


def test_the_way_to_a_double_result_is_the_one_that_was_measured() -> None:
    """Pause, expiry, another worker, and the first one comes back: 11 of 4,000 tasks without epochs went through it."""
    way, _ = search(replace(RIGHT, fence="state", people=False))

    assert [step.name for step in way] == ["CLAIM", "time passes", "RELEASE", "CLAIM", "START"]


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
    assert _is_a_way_of_the_model(told)
    assert not _is_a_way_of_the_model(["CLAIM", "CLAIM"])
    assert not _is_a_way_of_the_model(["CLAIM", "COMPLETE", "COMPLETE"])


def _is_a_way_of_the_model(told: list[str]) -> bool:
    """Whether the model has a run whose events are these, with silent steps between."""
    silent = {"time passes", "heartbeat", "heartbeat begins", "sweep reads"}
    states = {start(RIGHT)}
    for name in told:
        states = {
            step.after
            for state in _with_silent_steps(states, silent)
            for step in steps(state, RIGHT)
            if step.name == name
        }
    return bool(states)


def _with_silent_steps(states: set[State], silent: set[str]) -> set[State]:
    found, waiting = set(states), list(states)
    while waiting:
        for step in steps(waiting.pop(), RIGHT):
            if step.name in silent and step.after not in found:
                found.add(step.after)
                waiting.append(step.after)
    return found


def _told(way: list[Step]) -> str:
    return " → ".join(map(str, way)) + (f": {way[-1].broken}" if way else "")
