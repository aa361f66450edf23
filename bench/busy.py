"""Heartbeats while everything else is slow: two hundred reads wait for the database, which does not answer them."""

import asyncio
import time
from contextlib import AsyncExitStack

import asyncpg

from bench.caller import Caller
from bench.control_plane import control_plane
from bench.http import worker_tokens
from bench.postgres import folder, postgres
from bench.series import Series, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.core.plan import Plan, TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token

P99 = Bar(at_most=500.0)
READERS = 200
APART = 0.02
ALONE = "alone"
CLAIM = {"claim_id": "c", "plan": "busy", "agents": ["scripted"]}
BEAT = "/api/v1/plans/busy/tasks/T/attempts/1/heartbeat"


async def measure(sizes: Sizes) -> Table:
    """A table of the log is locked, and everybody wants to read it."""
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("busy"))
        await import_plan(database, Plan("busy", "One task", (TaskSpec("T", "Something"),)))
        (worker,) = await worker_tokens(database, 1)
        operator = (await issue_token(database, TokenKind.OPERATOR)).bearer
        running = await held.enter_async_context(control_plane(database.url, place))
        caller = await held.enter_async_context(Caller.to(running.port, worker))
        await caller.told("/api/v1/claim", CLAIM)
        alone = await _beats(caller, sizes.beats)
        locking = await asyncpg.connect(database.url)
        await locking.execute("begin; lock table event_log in access exclusive mode")
        answers: list[int] = []
        readers = [asyncio.create_task(_read(running.port, operator, answers)) for _ in range(READERS)]
        try:
            await asyncio.wait(readers, timeout=2, return_when=asyncio.FIRST_EXCEPTION)
            ours = await _beats(caller, sizes.beats)
            broken = [task.exception() for task in readers if task.done()]
            if broken:
                raise RuntimeError(f"{len(broken)} readers broke off, the first with {broken[0]!r}")
        finally:
            for task in readers:
                task.cancel()
            await asyncio.wait(readers)
            await locking.close()
    shares = {status: answers.count(status) for status in sorted(set(answers))}
    return Table(
        "busy: heartbeats behind slow reads",
        (
            Figure(
                "heartbeat p99, ms", Series((percentile(ours, 0.99),)), P99, ALONE, Series((percentile(alone, 0.99),))
            ),
            Figure(
                "heartbeat p50, ms", Series((percentile(ours, 0.5),)), None, ALONE, Series((percentile(alone, 0.5),))
            ),
        ),
        (
            f"{READERS} clients read the log while its table is locked, again and again; their answers by status: "
            f"{shares or 'none'}. {sizes.beats:,} heartbeats, one after the other. The contender is the same server "
            "before anybody read.",
        ),
    )


async def _beats(caller: Caller, count: int) -> list[float]:
    """Milliseconds that each heartbeat took."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await caller.told(BEAT, {"phase": "agent"})
        took.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(APART)
    return took


async def _read(port: int, bearer: str, answers: list[int]) -> None:
    async with Caller.to(port, bearer) as caller:
        while True:
            status, _ = await caller.ask("GET", "/api/v1/events?after=0")
            answers.append(status)
