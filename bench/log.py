"""Everything that is done with a log of ten million events, against a log that is empty: it must cost the same."""

import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from bench.drain import drain
from bench.fill import fill_log
from bench.plans import layered
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

Rates = dict[str, float]


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
        logs = [("empty", empty), ("full", full)]
        for number_of_round in range(-1, sizes.rounds):
            for name, database in in_turn(logs, number_of_round):
                rates = await _round(server, database, f"round-{number_of_round}", sizes.backlog)
                # The first after the fill reads from the disk and is not counted.
                found[name] += [rates] if number_of_round >= 0 else []
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


async def _round(server: Postgres, database: Database, plan: str, tasks: int) -> Rates:
    await import_plan(database, layered(plan, tasks))
    drained = await drain(server, database, plan, tasks)
    rates = {"tasks/s, claimed, started and finished": drained.rate}
    end = await end_of_log(database)
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "pages/s of 500 events at the end of the log": lambda: events_after(database, end - PAGE, None, PAGE),
        "pages/s of 500 events of one plan": lambda: events_after(database, end - 2 * tasks, plan, PAGE),
        "looks/s whether there are new events": lambda: events_after(database, end, None, PAGE),
        "looks/s at one task with its attempts": lambda: task_detail(database, plan, layered(plan, 1).tasks[0].id),
    }
    for what, read in reads.items():
        began = time.perf_counter()
        for _ in range(READS):
            await read()
        rates[what] = READS / (time.perf_counter() - began)
    began = time.perf_counter()
    for _ in range(max(READS // 20, 1)):
        await plan_overview(database, plan)
    rates["overviews/s of a plan"] = max(READS // 20, 1) / (time.perf_counter() - began)
    rates["events/s that get their places"] = await _sequenced(database)
    await reset_plan(database, plan, hard=True)
    return rates


async def _sequenced(database: Database) -> float:
    async def write() -> None:
        async with database.transaction() as tx:
            for number in range(2_000):
                tx.tell("sequence", None, "bench.told", {"number": number})

    await write()
    began = time.perf_counter()
    count = 0
    while found := await sequence_events(database):
        count += found
    return count / (time.perf_counter() - began)
