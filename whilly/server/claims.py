"""A claim that waits: without a database connection, and only as long as somebody waits for its answer."""

import asyncio
import time

from starlette.types import Receive

from whilly.core.assignment import Assignment
from whilly.operations.claim_tasks import Drained
from whilly.operations.finish_attempts import release_attempt
from whilly.server.engine import Engine
from whilly.server.errors import Denied
from whilly.wire.work import ClaimRequest, Release

UNDELIVERED = Release("undelivered")


class Claims:
    """Hands out tasks. A task whose answer cannot be delivered goes back at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._giving_back: set[asyncio.Task[None]] = set()

    async def claim(self, worker: str, request: ClaimRequest, receive: Receive) -> Assignment | None:
        """A task, or None after `wait_seconds`, or as soon as the client is gone (`receive` says so)."""
        if self._engine.wakeups.closed:
            raise Denied(503, "stopping", "This server is about to stop.", "Ask again.", {"Retry-After": "1"})
        # Asked this way round, so that NaN is no wait at all rather than one without end.
        seconds = min(request.wait_seconds, self._engine.timing.longest_wait) if request.wait_seconds > 0 else 0
        found, seen = await self._ask(worker, request)
        if found is not None or seconds == 0:
            return found
        gone = asyncio.create_task(disconnected(receive))
        try:
            return await self._wait(worker, request, seen, time.monotonic() + seconds, gone)
        finally:
            gone.cancel()

    async def _wait(
        self, worker: str, request: ClaimRequest, seen: int, until: float, gone: "asyncio.Task[None]"
    ) -> Assignment | None:
        line = (request.plan, (request.agents, request.tags, request.isolation))
        while True:
            parked = asyncio.create_task(self._engine.wakeups.wait(line, seen, until - time.monotonic()))
            try:
                await asyncio.wait((parked, gone), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not parked.done():
                    parked.cancel()
            if gone.done():
                if parked.done() and not parked.cancelled() and parked.result():
                    self._engine.wakeups.pass_on(line)
                return None
            if not parked.result():
                return None
            found, seen = await self._ask(worker, request)
            if found is not None:
                self._engine.wakeups.pass_on(line)
                if gone.done():
                    self._give_back(found)
                    return None
                return found

    async def _ask(self, worker: str, request: ClaimRequest) -> tuple[Assignment | None, int]:
        """One look for work, and the generation in which it was made."""
        seen = self._engine.wakeups.generation(request.plan)
        asked = asyncio.ensure_future(self._engine.claims.submit((worker, request)))
        began = time.monotonic()
        try:
            found = await asyncio.shield(asked)
        except Drained:
            return None, seen
        except asyncio.CancelledError:
            asked.add_done_callback(self._nobody_waits)
            raise
        self._engine.timings.claim(time.monotonic() - began)
        if found is not None:
            self._engine.ownership.note(found.key, worker)
        return found, seen

    def _nobody_waits(self, asked: "asyncio.Future[Assignment | None]") -> None:
        if not asked.cancelled() and asked.exception() is None and (found := asked.result()) is not None:
            self._give_back(found)

    def _give_back(self, found: Assignment) -> None:
        async def release() -> None:
            await release_attempt(self._engine.database, found.key, UNDELIVERED)
            self._engine.freed(found.plan)

        task = asyncio.create_task(release())
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def settle(self) -> None:
        """Wait until everything undelivered is given back."""
        await asyncio.gather(*self._giving_back, return_exceptions=True)


async def disconnected(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
