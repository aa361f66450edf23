"""Orders to workers that cannot wait for a heartbeat: one open request per process, and one look for all of them.

The requests hold no database connection. A cancel that comes through this process is looked for at once, one through
another process when the log says that something happened, and every second whatever happens. While nobody waits here,
which is while no attempt runs, nothing is asked at all.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from whilly.operations.read_orders import Standing, read_orders
from whilly.server.loops.repeat import Alarm, repeat
from whilly.store.database import Database
from whilly.wire.presence import Orders, OrdersRequest

LOOK_EVERY: Final = 1.0
"""Seconds; the most that a lost hint delays an order."""
APART: Final = 0.1
"""Seconds between two looks, so that a busy log costs no more than ten a second."""
NOBODY_WAITS: Final = 60.0


@dataclass(eq=False, slots=True)
class _Waiting:
    worker: str
    request: OrdersRequest
    answer: "asyncio.Future[Orders]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class OrdersDesk:
    """Where the processes of workers wait for orders."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: set[_Waiting] = set()
        self._alarm = Alarm()
        self._last_look = 0.0
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self) -> None:
        """Look for orders, for ever."""
        await repeat("looking for orders to workers", self._round, self._pause)

    def look(self) -> None:
        """There may be new orders."""
        if self._waiting:
            self._alarm.ring()

    def close(self) -> None:
        """Send everybody away."""
        self._closed = True
        for each in self._waiting:
            if not each.answer.done():
                each.answer.set_result(Orders())

    async def wait(self, worker: str, request: OrdersRequest, seconds: float) -> Orders | None:
        """What is wanted of this process of the worker; None when the time is over and nothing is."""
        if self._closed:
            return None
        place = _Waiting(worker, request)
        self._waiting.add(place)
        self._alarm.ring()
        try:
            async with asyncio.timeout(seconds):
                return await place.answer
        except TimeoutError:
            return None
        finally:
            self._waiting.discard(place)

    async def _round(self) -> float:
        waiting = [each for each in self._waiting if not each.answer.done()]
        if not waiting:
            return NOBODY_WAITS
        self._last_look = asyncio.get_running_loop().time()
        standing = await read_orders(self._database, sorted({each.worker for each in waiting}))
        for each in waiting:
            orders = _for(each.request, standing.get(each.worker))
            if orders and not each.answer.done():
                each.answer.set_result(orders)
        return LOOK_EVERY

    async def _pause(self, seconds: float) -> None:
        await self._alarm.pause(seconds)
        if (early := self._last_look + APART - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(early)


def _for(request: OrdersRequest, standing: Standing | None) -> Orders | None:
    if standing is None:
        return None
    superseded = 0 < request.session < standing.session
    cancel = standing.cancel.difference(request.known)
    if not cancel and not superseded:
        return None
    in_order = tuple(sorted(cancel, key=lambda key: (key.plan, key.task)))
    # Whoever is drained is not taken over, but turned out.
    return Orders(in_order, superseded, superseded and standing.draining)
