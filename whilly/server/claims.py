"""A claim that waits: without a database connection, and only as long as somebody waits for its answer."""

import asyncio
import math
import time
from functools import partial

from starlette.types import Receive

from whilly.core.assignment import Assignment
from whilly.operations.claim_tasks import Drained
from whilly.operations.finish_attempts import release_attempt
from whilly.server.engine import Engine
from whilly.server.errors import Denied
from whilly.server.holdings import MOST_HELD
from whilly.server.wakeups import Line
from whilly.wire.work import ClaimRequest, Release

UNDELIVERED = Release("undelivered")
UNDELIVERED_WEIGHT = 50_000
"""Bytes that count as stored for it: a worker that asks and goes away, again and again, would fill the log."""

_UNDELIVERED_TO = "undelivered to "

BARREN_SECONDS = 2.0
"""For how long it is believed that there is nothing for those who can do the same, as long as nobody says otherwise: a
thousand workers whose waits end one after the other ask the database once in TOGETHER_SECONDS."""

TOGETHER_SECONDS = 2.0
"""The most that a repeated claim, which may have been granted already, waits for its answer because of that."""

END_TOGETHER_SECONDS = 1.0
"""Long waits end at full multiples of this, up to so much before they would. The clients then come back together, too:
of a thousand idle workers the server hears once in a second, for half of what it costs to be woken by each of them."""

LONG_WAIT_SECONDS = 10.0
"""From here on a wait may end up to END_TOGETHER_SECONDS early; shorter ones keep their length."""


class Claims:
    """Hands out tasks. A task whose answer cannot be delivered goes back at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._giving_back: set[asyncio.Task[None]] = set()
        self._barren: dict[Line, tuple[int, float]] = {}

    async def claim(self, worker: str, request: ClaimRequest, receive: Receive) -> Assignment | None:
        """A task, or None after `wait_seconds`, or as soon as the client is gone (`receive` says so)."""
        if self._engine.wakeups.closed:
            raise Denied(503, "stopping", "This server is about to stop.", "Ask again.", {"Retry-After": "1"})
        if self._engine.storing.used_up(_UNDELIVERED_TO + worker):
            detail = "Too many tasks could not be delivered to this worker."
            raise Denied(429, "too_much", detail, "Wait for the answers.", {"Retry-After": "5"})
        # Asked this way round, so that NaN is no wait at all rather than one without end.
        seconds = min(request.wait_seconds, self._engine.timing.longest_wait) if request.wait_seconds > 0 else 0
        known = self._known_barren(request) if seconds else None
        if known is None:
            found, seen = await self._ask(worker, request)
            if found is not None or seconds == 0:
                return found
            look_at = math.inf
        else:
            # All of those that come within that time ask together at its end, or as soon as they are roused.
            seen, look_at = known, math.ceil(time.monotonic() / TOGETHER_SECONDS) * TOGETHER_SECONDS
        gone = asyncio.create_task(disconnected(receive))
        try:
            return await self._wait(worker, request, seen, _end(time.monotonic(), seconds), gone, look_at)
        finally:
            gone.cancel()

    async def _wait(
        self, worker: str, request: ClaimRequest, seen: int, until: float, gone: "asyncio.Task[None]", look_at: float
    ) -> Assignment | None:
        """`look_at`: when to ask although nobody roused it; its claim may be a repeated one that was granted."""
        line = _line(request)
        while True:
            deadline = min(until, look_at)
            parked = asyncio.create_task(self._engine.wakeups.wait(line, seen, deadline - time.monotonic()))
            try:
                await asyncio.wait((parked, gone), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not parked.done():
                    parked.cancel()
            if gone.done():
                if parked.done() and not parked.cancelled() and parked.result():
                    self._engine.wakeups.pass_on(line)
                return None
            if not parked.result() and (deadline == until or self._engine.wakeups.closed):
                return None
            look_at = math.inf
            found, seen = await self._ask(worker, request)
            if found is not None:
                self._engine.wakeups.pass_on(line)
                if gone.done():
                    self._give_back(found, worker)
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
            asked.add_done_callback(partial(self._nobody_waits, worker))
            raise
        self._engine.timings.claim(time.monotonic() - began)
        if found is not None:
            self._engine.ownership.note(found.key, worker)
            if not self._engine.holdings.take(worker, found.key):
                self._give_back(found, worker)
                raise Denied(
                    429, "holds_too_much", f"This worker holds {MOST_HELD} tasks.", "Finish some.", {"Retry-After": "5"}
                )
        else:
            self._barren[_line(request)] = seen, began
        return found, seen

    def _known_barren(self, request: ClaimRequest) -> int | None:
        """The generation in which there was nothing for such a request, when that was a moment ago and still holds."""
        seen, at = self._barren.pop(_line(request), (-1, 0.0))
        if seen != self._engine.wakeups.generation(request.plan) or time.monotonic() - at > BARREN_SECONDS:
            return None
        self._barren[_line(request)] = seen, at
        return seen

    def _nobody_waits(self, worker: str, asked: "asyncio.Future[Assignment | None]") -> None:
        if not asked.cancelled() and asked.exception() is None and (found := asked.result()) is not None:
            self._give_back(found, worker)

    def _give_back(self, found: Assignment, worker: str) -> None:
        self._engine.storing.take(_UNDELIVERED_TO + worker, UNDELIVERED_WEIGHT)

        async def release() -> None:
            await release_attempt(self._engine.database.vital, found.key, UNDELIVERED)
            self._engine.freed(found.plan)

        task = asyncio.create_task(release())
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def settle(self) -> None:
        """Wait until everything undelivered is given back."""
        await asyncio.gather(*self._giving_back, return_exceptions=True)


def _end(now: float, seconds: float) -> float:
    """When a wait of so many seconds that begins now is over."""
    until = now + seconds
    return until if seconds < LONG_WAIT_SECONDS else until // END_TOGETHER_SECONDS * END_TOGETHER_SECONDS


def _line(request: ClaimRequest) -> Line:
    return request.plan, (request.agents, request.tags, request.isolation)


async def disconnected(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
