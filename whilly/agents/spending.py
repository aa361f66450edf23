"""Stops an agent at the first sign that it has spent what it may."""

import asyncio

from whilly.agents.runner import Deadline, StopSignal
from whilly.core.evidence import Usage
from whilly.core.money import Micros


class SpendingLimit:
    """A stop signal of its own, set when the limit is reached or the caller's stop signal is set."""

    def __init__(self, limit: Micros | None, stop: StopSignal) -> None:
        self._limit = limit
        self._stop = stop
        self._exhausted = asyncio.Event()
        self.note(Usage(cost=0))

    def note(self, usage: Usage) -> None:
        """Take note of all that the run has consumed so far."""
        if self._limit is not None and usage.cost is not None and usage.cost >= self._limit:
            self._exhausted.set()

    @property
    def dead_by(self) -> float | None:
        """The caller's deadline, where its stop signal has one."""
        deadline: object = self._stop
        return deadline.dead_by if isinstance(deadline, Deadline) else None

    async def postponed(self) -> object:
        """Return when that is another one."""
        deadline: object = self._stop
        return await (deadline.postponed() if isinstance(deadline, Deadline) else asyncio.Event().wait())

    @property
    def reached(self) -> bool:
        """Whether the money was the reason."""
        return self._exhausted.is_set()

    def is_set(self) -> bool:
        """Whether the agent shall end now."""
        return self.reached or self._stop.is_set()

    async def wait(self) -> object:
        """Return when it shall end."""
        waits = [asyncio.ensure_future(self._exhausted.wait()), asyncio.ensure_future(self._stopped())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return True

    async def _stopped(self) -> None:
        await self._stop.wait()
