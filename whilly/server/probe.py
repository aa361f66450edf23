"""Whether the database answers, asked once for all who want to know: probes need no token, so they must be cheap."""

import asyncio
import time

from whilly.store.database import AWAY, Database

LIMIT = 2.0
"""Seconds: a database that takes longer counts as away."""

HOLDS = 0.5
"""Seconds that an answer serves everybody."""


class Probe:
    """Looks at the database for `/health`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._looking: asyncio.Task[int | None] | None = None
        self._ended = 0.0

    async def queue_depth(self) -> int | None:
        """How many tasks could be claimed now; None when the database is away."""
        looking = self._looking
        if looking is None or (looking.done() and time.monotonic() - self._ended > HOLDS):
            looking = self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(looking)

    async def _look(self) -> int | None:
        try:
            async with asyncio.timeout(LIMIT):
                return int((await self._database.vital.fetch("queue_depth"))[0]["depth"])
        except AWAY:
            return None
        finally:
            self._ended = time.monotonic()
