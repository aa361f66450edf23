"""Everything that is done with a log of ten million events, against a log that is empty: it must cost the same."""

import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from bench.drain import drain
from bench.fill import fill_log
from bench.plans import layered, name_of
from bench.postgres import Postgres, postgres
from bench.series import Series, in_turn
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.operations.import_plan import import_plan
from whilly.operations.read_attempts import task_detail
from whilly.operations.read_events import end_of_log, events_after
from whilly.operations.read_plans import plan_overview
from whilly.operations.reset_plan import reset_plan
from whilly.operations.sequence_events import sequence_events
from whilly.store.database import Database

WITHIN = Bar(at_least=0.85, ratio=True)
EMPTY = "empty"
BYTES_PER_EVENT = 700
"""On the disk, with indexes and what PostgreSQL writes to be able to recover."""

READS = 200
PAGE = 500
TURNS = 5

Rates = dict[str, float]
Thing = Callable[[Database], Awaitable[object]]


async def measure(sizes: Sizes) -> Table:
    """One round on the empty and one on the full log, several times."""
    async with AsyncExitStack() as held:
        server = await held.enter_async_context(postgres())
        events = min(sizes.log, int(shutil.disk_usage(Path.home()).free * 0.5 / BYTES_PER_EVENT))
        empty = await held.enter_async_context(server.database("log_empty"))
        full = await held.enter_async_context(server.database("log_full"))
        began = time.perf_counter()
        await fill_log(full, events)
        filled = time.perf_counter() - began
        found: dict[str, list[Rates]] = {"empty": [], "full": []}
        logs = {"empty": empty, "full": full}
        for number_of_round in range(-1, sizes.rounds):
            rates = await _round(server, logs, number_of_round, sizes.backlog)
            # The first after the fill reads from the disk and is not counted.
            if number_of_round >= 0:
                for name, each in rates.items():
                    found[name].append(each)
    figures = []
    for what in found["full"][0]:
        ours, theirs = (Series(tuple(rates[what] for rates in found[name])) for name in ("full", "empty"))
        figures.append(Figure(what, ours, WITHIN, EMPTY, theirs))
    return Table(
        f"log: with {events:,} events in it",
        tuple(figures),
        (
            f"{sizes.rounds} rounds of {sizes.backlog:,} tasks each; the contender is the same with an empty log. "
            f"Filling it took {filled:.0f} s."
            + ("" if events == sizes.log else f" The disk is too full for {sizes.log:,}."),
        ),
    )


async def _round(server: Postgres, logs: dict[str, Database], number_of_round: int, tasks: int) -> dict[str, Rates]:
    """Each thing on both logs, one right after the other, so that a slow moment of the machine meets both."""
    plan = f"round-{number_of_round}"
    rates: dict[str, Rates] = {name: {} for name in logs}
    things: dict[str, tuple[int, Thing]] = {
        "pages/s of 500 events at the end of the log": (READS, _last_page),
        "pages/s of 500 events of one plan": (READS, partial(_page_of_plan, plan=plan, tasks=tasks)),
        "looks/s whether there are new events": (READS, _look),
        "looks/s at one task with its attempts": (READS, partial(task_detail, plan=plan, task=name_of(0))),
        "overviews/s of a plan": (max(READS // 20, 1), partial(plan_overview, plan=plan)),
        "thousands/s of events written and placed": (max(READS // 20, 1), _sequence),
    }
    for name, database in in_turn([*logs.items()], number_of_round):
        await import_plan(database, layered(plan, tasks))
        drained = await drain(server, database, plan, tasks)
        rates[name]["tasks/s, claimed, started and finished"] = drained.rate
    for what, (times, thing) in things.items():
        took = dict.fromkeys(logs, 0.0)
        for turn in range(TURNS):
            for name, database in in_turn([*logs.items()], turn):
                began = time.perf_counter()
                for _ in range(max(times // TURNS, 1)):
                    await thing(database)
                took[name] += time.perf_counter() - began
        for name, seconds in took.items():
            rates[name][what] = max(times // TURNS, 1) * TURNS / seconds
    for database in logs.values():
        await reset_plan(database, plan, hard=True)
    return rates


async def _last_page(database: Database) -> None:
    await events_after(database, await end_of_log(database) - PAGE, None, PAGE)


async def _page_of_plan(database: Database, plan: str, tasks: int) -> None:
    await events_after(database, await end_of_log(database) - 2 * tasks, plan, PAGE)


async def _look(database: Database) -> None:
    await events_after(database, await end_of_log(database), None, PAGE)


async def _sequence(database: Database) -> None:
    async with database.transaction() as tx:
        for number in range(1_000):
            tx.tell("sequence", None, "bench.told", {"number": number})
    while await sequence_events(database):
        pass
