"""Gives committed events their positions soon after they are written, and costs next to nothing when none are."""

import asyncio
import time
from collections.abc import Callable

from whilly.operations.sequence_events import sequence_events
from whilly.server.loops.repeat import Alarm, repeat
from whilly.store.database import Database

APART = 0.01
"""Seconds between two rounds, so that one round serves everything written meanwhile."""

IDLE = 1.0
"""Seconds until the next look when nobody in this process has written anything: other processes do."""

BUSY = 0.1
"""The same, while events are still coming in."""


class Sequencer:
    """The loop that calls `sequence_events`."""

    def __init__(self, database: Database, numbered: Callable[[], None]) -> None:
        self._database = database
        self._numbered = numbered
        self._alarm = Alarm()
        self._last_found = 0.0
        self._turn = asyncio.Lock()

    def nudge(self) -> None:
        """Something was written: look at once."""
        self._alarm.ring()

    async def run(self) -> None:
        """Work for ever."""
        await repeat("numbering the events", self._round, self._wait)

    async def catch_up(self) -> None:
        """Number everything that was committed so far, now."""
        async with self._turn:
            while await sequence_events(self._database):
                self._numbered()

    async def _round(self) -> float:
        async with self._turn:
            found = await sequence_events(self._database)
        now = time.monotonic()
        if found:
            self._numbered()
            self._last_found = now
            return BUSY
        return BUSY if now - self._last_found < IDLE else IDLE

    async def _wait(self, seconds: float) -> None:
        began = time.monotonic()
        await self._alarm.pause(seconds)
        if (early := APART - (time.monotonic() - began)) > 0:
            await Alarm().pause(early)
