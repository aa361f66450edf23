"""pgqueuer, the fastest of the queues of the package index that were tried; the extra `bench` installs it."""

import asyncio
import importlib.util
import time
from contextlib import AsyncExitStack

import asyncpg

from bench.drain import CONCURRENT, Drained
from bench.postgres import Postgres
from bench.processes import own_cpu

NAME = "pgqueuer"
ENTRYPOINT = "work"


def is_installed() -> bool:
    """Whether it can take part."""
    return importlib.util.find_spec("pgqueuer") is not None


class WithPgqueuer:
    """The jobs of one database."""

    def __init__(self, server: Postgres, url: str) -> None:
        self._server = server
        self._url = url

    async def install(self) -> None:
        """Make its tables."""
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        connection = await asyncpg.connect(self._url)
        try:
            await Queries(AsyncpgDriver(connection)).install()
        finally:
            await connection.close()

    async def drain(self, jobs: int) -> Drained:
        """Add jobs and work them off in batches of 16."""
        from pgqueuer.db import AsyncpgPoolDriver
        from pgqueuer.models import Job
        from pgqueuer.qm import QueueManager
        from pgqueuer.queries import Queries
        from pgqueuer.types import QueueExecutionMode

        done = 0
        async with AsyncExitStack() as held:
            pool = await held.enter_async_context(asyncpg.create_pool(self._url, min_size=2, max_size=8))
            queries = Queries(AsyncpgPoolDriver(pool))
            await queries.enqueue([ENTRYPOINT] * jobs, [b"Write the function of the library"] * jobs, [0] * jobs)
            await self._server.settle()
            manager = QueueManager(queries)

            @manager.entrypoint(ENTRYPOINT)
            async def work(_job: Job) -> None:
                nonlocal done
                done += 1
                await asyncio.sleep(0)

            theirs, mine, began = self._server.cpu(), own_cpu(), time.perf_counter()
            await manager.run(batch_size=CONCURRENT, mode=QueueExecutionMode.drain)
            took, mine = time.perf_counter() - began, own_cpu() - mine
            return Drained(done, took, self._server.cpu() - theirs, mine)
