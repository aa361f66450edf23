"""The one loop. The work is an ordinary operation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from whilly.store.database import AWAY

log = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0
"""Seconds between rounds that keep failing."""


async def repeat(name: str, work: Callable[[], Awaitable[float]], pause: Callable[[float], Awaitable[object]]) -> None:
    """Do the work for ever; it says after how many seconds it wants another round, and `pause` waits for that.

    A round that fails is logged, and the next one still happens, later each time that it fails again.
    """
    failures = 0
    while True:
        try:
            wanted = await work()
            failures = 0
        except Exception as failure:
            failures += 1
            wanted = min(0.5 * 2**failures, LONGEST_PAUSE)
            level = logging.ERROR if failures == 1 else logging.INFO
            unheard_of = failures == 1 and not isinstance(failure, AWAY)
            log.log(level, "%s failed, next try in %.0f s: %s", name, wanted, failure, exc_info=unheard_of)
        await pause(wanted)


class Alarm:
    """A pause that ends early when somebody rings."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """End the pause, or the next one if none is going on."""
        self._rung.set()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until it rings."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            pass
        self._rung.clear()
