"""Counting what the log tells: each event once."""

import asyncio

from tests.builders import a_plan, a_task, done
from whilly.operations.count_events import CLAIMS, Tally, add_to_tallies, count_events
from whilly.operations.import_plan import import_plan
from whilly.operations.read_metrics import read_tallies
from whilly.operations.sequence_events import sequence_events
from whilly.store.database import Database


async def tallies(database: Database) -> dict[tuple[str, ...], float]:
    return {(counted.tally[0], *counted.tally[1]): counted.value for counted in await read_tallies(database)}


async def happens(database: Database, plan: str) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), plan=plan))
    await done(database, plan)
    await done(database, plan)
    while await sequence_events(database):
        pass


async def test_events_are_counted_once_by_many(database: Database) -> None:
    for plan in ("p", "q", "r"):
        await happens(database, plan)
        await asyncio.gather(*(count_events(database) for _ in range(8)))
    while await count_events(database):
        pass

    counted = await tallies(database)
    assert {key: value for key, value in counted.items() if key[0] == CLAIMS} == {
        (CLAIMS, plan, "w1"): 2 for plan in ("p", "q", "r")
    }


async def test_an_empty_log_is_counted(database: Database) -> None:
    assert await count_events(database) == 0
    assert await tallies(database) == {}


async def test_two_that_add_in_different_orders_do_not_lock_each_other_out(database: Database) -> None:
    names: list[Tally] = [(f"m{number}", ("x",)) for number in range(50)]
    forth, back = dict.fromkeys(names, 1.0), dict.fromkeys(reversed(names), 0.5)

    await asyncio.gather(*(add_to_tallies(database, counted) for _ in range(10) for counted in (forth, back)))

    assert set((await tallies(database)).values()) == {15.0}
