"""From a task that becomes claimable to the idle remote worker that has it."""

import asyncio
import time
import uuid
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from bench.caller import Caller
from bench.control_plane import control_plane
from bench.http import COMMIT, worker_tokens
from bench.plans import layered
from bench.postgres import folder, postgres
from bench.series import Series, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.operations.import_plan import import_plan
from whilly.store.database import Database

P50, P99 = Bar(at_most=10), Bar(at_most=50)
ROUNDS = 3
RIVAL = "NOTIFY"
REPORT = {"outcome": "completed", "head_commit": COMMIT, "files_changed": 1, "usage": {"cost": 0}}


async def measure(sizes: Sizes) -> Table:
    """A chain of tasks, two workers, each of whom frees the next task for the other, who waits by then."""
    figures: list[Figure] = []
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("wake"))
        bearers = await worker_tokens(database, 2)
        one = await held.enter_async_context(control_plane(database.url, place))
        other = await held.enter_async_context(control_plane(database.url, place))
        for what, ports in (("one server", (one.port, one.port)), ("two servers", (one.port, other.port))):
            waits, rivals = [], []
            for number_of_round in range(min(sizes.rounds, ROUNDS)):
                plan = f"chain-{len(figures)}-{number_of_round}"
                await import_plan(database, layered(plan, sizes.wakes + 1, width=1))
                waits.append(await _hand_over(database, plan, ports, bearers, sizes.wakes))
                rivals.append([await _notified(database) for _ in range(sizes.wakes)])
            for name, share, bar in (("p50", 0.5, P50), ("p99", 0.99, P99)):
                ours, theirs = (Series(tuple(percentile(each, share) for each in of)) for of in (waits, rivals))
                figures.append(Figure(f"{name}, ms, {what}", ours, bar, RIVAL, theirs))
    return Table(
        "wake: a task becomes claimable → an idle remote worker has it",
        tuple(figures),
        (
            f"{sizes.wakes} times per round. From the database's time of the event that ended the prerequisite, before "
            "its commit, to the last byte of the answer to a long poll that was waiting. Two servers: the "
            "prerequisite is reported to the one, the worker waits at the other. The contender is a notification from "
            "one connection to another, without HTTP.",
        ),
    )


async def _hand_over(
    database: Database, plan: str, ports: tuple[int, int], bearers: list[str], times: int
) -> list[float]:
    """Milliseconds of each hand-over."""
    got: list[float] = []
    freed: list[str] = []
    arrived: dict[str, float] = {}
    async with Caller.to(ports[0], bearers[0]) as first, Caller.to(ports[1], bearers[1]) as second:
        hands = (first, second)
        held = await _claim(hands[0], plan, arrived)
        for number in range(times):
            waiting = asyncio.create_task(_claim(hands[(number + 1) % 2], plan, arrived))
            # Long enough for the poll to find nothing and to wait.
            await asyncio.sleep(0.03)
            await hands[number % 2].told(f"{_attempt(plan, held)}/finish", REPORT)
            freed.append(held["spec"]["id"])
            held = await waiting
            got.append(arrived[held["spec"]["id"]])
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select task_id, extract(epoch from at)::float8 as at from events where plan_id = $1 and type = 'COMPLETE'",
            plan,
        )
    at = {row["task_id"]: row["at"] for row in rows}
    return [(end - at[task]) * 1e3 for end, task in zip(got, freed, strict=True)]


async def _claim(caller: Caller, plan: str, arrived: dict[str, float]) -> Any:
    asked = {"claim_id": uuid.uuid4().hex, "plan": plan, "agents": ["scripted"], "wait_seconds": 30}
    found = await caller.told("/api/v1/claim", asked)
    if found is None:
        raise AssertionError("nobody woke the worker")
    arrived[found["spec"]["id"]] = time.time()
    await caller.told(f"{_attempt(plan, found)}/start", {"agent": "scripted", "base_commit": COMMIT})
    return found


def _attempt(plan: str, found: Any) -> str:
    return f"/api/v1/plans/{plan}/tasks/{found['spec']['id']}/attempts/{found['epoch']}"


async def _notified(database: Database) -> float:
    """Milliseconds from before a notification's commit to its arrival on another connection."""
    heard = asyncio.Event()
    listener = await asyncpg.connect(database.url)
    try:
        await listener.add_listener("bench", lambda *_: heard.set())
        async with database.connection() as connection:
            began = time.perf_counter()
            await connection.execute("select pg_notify('bench', '')")
        await heard.wait()
        return (time.perf_counter() - began) * 1e3
    finally:
        await listener.close()
