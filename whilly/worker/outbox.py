"""Sends what an attempt has to tell, in order and in batches, while nobody waits for it."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from whilly.client.back_off import BackOff
from whilly.client.errors import Rejected, Unreachable

log = logging.getLogger(__name__)

Item = TypeVar("Item")

LARGEST_BATCH = 100
LARGEST_REQUEST = 256 * 1024
"""Bytes, roughly: a quarter of what a control plane takes at once."""


class Outbox(Generic[Item]):
    """A queue with one sender. What could not be sent stays in it, and is given back by `close`."""

    def __init__(
        self,
        what: str,
        send: Callable[[Sequence[Item]], Awaitable[None]],
        *,
        weigh: Callable[[Item], int],
        linger_seconds: float,
    ) -> None:
        """`what` names the things in messages; `linger_seconds` is how long a lone item waits for company."""
        self._what = what
        self._send = send
        self._weigh = weigh
        self._linger = linger_seconds
        self._back_off = BackOff(0.1, 2.0)
        self._items: deque[Item] = deque()
        self._more = asyncio.Event()
        self._at_once = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._refused = ""
        self.lost = 0
        """Items that the control plane did not take, for a reason that repeating them does not mend."""

    def put(self, item: Item) -> None:
        """Have it sent soon."""
        if self._refused:
            self.lost += 1
            return
        self._items.append(item)
        self._empty.clear()
        self._more.set()

    async def flush(self, within: float) -> None:
        """Send all there is now; return when that is done, or `within` seconds have passed."""
        self._at_once.set()
        try:
            async with asyncio.timeout(within):
                await self._empty.wait()
        except TimeoutError:
            log.warning("%d %s could not be sent yet", len(self._items), self._what)
        finally:
            self._at_once.clear()

    def rest(self) -> tuple[Item, ...]:
        """What is still waiting."""
        return tuple(self._items)

    async def run(self) -> None:
        """Send until cancelled."""
        failures = 0
        while True:
            await self._more.wait()
            if not failures:
                await self._unless_flushed(self._linger)
            try:
                await self._send_some()
                failures = 0
            except Unreachable:
                failures += 1
                await asyncio.sleep(self._back_off.seconds(failures))
            except Rejected as refusal:
                self._give_up(str(refusal))
            except Exception as failure:
                # The attempt goes on without being told of: its report is what counts.
                log.exception("Telling of an attempt failed")
                self._give_up(repr(failure))

    async def _send_some(self) -> None:
        batch: list[Item] = []
        weight = 0
        for item in self._items:
            weight += self._weigh(item)
            if batch and (weight > LARGEST_REQUEST or len(batch) == LARGEST_BATCH):
                break
            batch.append(item)
        await self._send(batch)
        for _ in batch:
            self._items.popleft()
        self._settle()

    def _give_up(self, why: str) -> None:
        self._refused = why
        self.lost += len(self._items)
        log.warning("%d %s are lost: %s", len(self._items), self._what, why)
        self._items.clear()
        self._settle()

    def _settle(self) -> None:
        if not self._items:
            self._more.clear()
            self._empty.set()

    async def _unless_flushed(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            return
