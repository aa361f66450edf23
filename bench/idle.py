"""Workers that wait for work: what a thousand open long polls cost, and whether they are answered as agreed."""

import asyncio
import random
import time
import uuid
from contextlib import AsyncExitStack

import asyncpg

from bench.caller import Caller
from bench.control_plane import ServerProcess, control_plane
from bench.http import numbered, worker_tokens
from bench.postgres import Postgres, folder, postgres
from bench.series import Series
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.operations.create_plan import create_plan

SERVER_SHARE = Bar(at_most=2.0)
TRANSACTIONS = Bar(at_most=5.0)
WAIT = 30.0
"""Seconds: the longest that a claim may wait."""

ALONE = "alone"
PER_ADDRESS = 50
"""They come from several addresses of this machine, as those of different machines do."""


async def measure(sizes: Sizes) -> Table:
    """Let them arrive evenly over one wait, as they do after a while, then look at the server and at PostgreSQL."""
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("idle"))
        await create_plan(database, "idle", "Nothing to do", None)
        bearers = await worker_tokens(database, sizes.idle)
        running = await held.enter_async_context(control_plane(database.url, place))
        await numbered(database)
        before = running.memory()
        alone = await _watched(server, database.url, running, sizes.idle_seconds / 4)
        waiting = [
            asyncio.create_task(_wait(running.port, bearer, n, sizes.idle_seconds)) for n, bearer in enumerate(bearers)
        ]
        try:
            await asyncio.sleep(min(WAIT, sizes.idle_seconds) * 1.1)
            ours = await _watched(server, database.url, running, sizes.idle_seconds)
            memory = (running.memory() - before) * 1024 / sizes.idle
            broken = [task.exception() for task in waiting if task.done()]
            if broken:
                raise RuntimeError(f"{len(broken)} of {sizes.idle} long polls broke off, the first with {broken[0]!r}")
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
    return Table(
        "idle: workers that wait for work",
        (
            Figure("server, % of a core", Series((ours[0],)), SERVER_SHARE, ALONE, Series((alone[0],))),
            Figure("PostgreSQL, % of a core", Series((ours[1],)), None, ALONE, Series((alone[1],))),
            Figure("transactions/s", Series((ours[2],)), TRANSACTIONS, ALONE, Series((alone[2],))),
            Figure("server's memory, KiB per worker", Series((memory,))),
        ),
        (
            f"{sizes.idle:,} long polls of {min(WAIT, sizes.idle_seconds):g} s each, begun evenly over one wait and "
            f"repeated when they end; watched for {sizes.idle_seconds:g} s. The contender is the same server before "
            "anybody came.",
        ),
    )


async def _wait(port: int, bearer: str, place: int, seconds: float) -> None:
    """A worker that asks again and again."""
    wait = min(WAIT, seconds)
    await asyncio.sleep(random.Random(place).random() * wait)
    source = f"127.0.{1 + place // PER_ADDRESS}.1"
    async with Caller.to(port, bearer, source) as caller:
        while True:
            asked = {"claim_id": uuid.uuid4().hex, "plan": "idle", "agents": ["scripted"], "wait_seconds": wait}
            if await caller.told("/api/v1/claim", asked) is not None:
                raise AssertionError("there was nothing to claim")


async def _watched(server: Postgres, url: str, running: ServerProcess, seconds: float) -> tuple[float, float, float]:
    """Percent of a core that server and PostgreSQL need, and transactions per second."""
    connection = await asyncpg.connect(url)
    try:
        transactions = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
        count, of_server, of_postgres = await connection.fetchval(transactions), running.cpu(), server.cpu()
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        took = time.perf_counter() - began
        of_server, of_postgres = running.cpu() - of_server, server.cpu() - of_postgres
        # Our own look at the counter is one of them; PostgreSQL adds up what its processes did once in a second.
        count = max(await connection.fetchval(transactions) - count - 1, 0)
    finally:
        await connection.close()
    return of_server / took * 100, of_postgres / took * 100, count / took
