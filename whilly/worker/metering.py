"""What an agent spends while it runs, against what it may spend."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from whilly.core.evidence import Usage
from whilly.core.money import Micros, shown
from whilly.worker import clock
from whilly.worker.halt import Cause, Halt

PAUSE_SECONDS = 1.0
"""Between two requests for a higher limit, unless the limit is reached."""

ASK_SECONDS = 2.0
"""How long an agent that reached its limit may go on while the control plane is asked for a higher one."""


class Meter:
    """Knows usage and limit of one attempt, and halts it at the first sign that the limit is reached."""

    def __init__(self, limit: Micros | None, halt: Halt, ask_for_more: Callable[[], Awaitable[None]]) -> None:
        """`ask_for_more` tells the control plane what was used and brings back a new limit through `limited`."""
        self.usage = Usage()
        self._limit = limit
        self._halt = halt
        self._ask_for_more = ask_for_more
        self._asked_at = float("-inf")
        self._running = True

    async def used(self, usage: Usage) -> None:
        """Take note of all that the agent has consumed so far. From half of the limit on, ask for more in time."""
        self.usage = usage if usage.cost is not None else replace(usage, cost=self.usage.cost)
        if self._reaches(1) or (self._reaches(0.5) and clock.now() - self._asked_at >= PAUSE_SECONDS):
            self._asked_at = clock.now()
            await self._ask()
        self._judge()

    def close(self) -> None:
        """The agent has ended; whatever it cost, there is nothing to halt any more."""
        self._running = False

    def limited(self, limit: Micros | None) -> None:
        """A new limit, higher or lower."""
        self._limit = limit
        self._judge()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await self._ask_for_more()
        except TimeoutError:
            return

    def _reaches(self, share: float) -> bool:
        cost = self.usage.cost or 0
        return self._limit is not None and cost > 0 and cost >= self._limit * share

    def _judge(self) -> None:
        if self._running and self._reaches(1):
            self._halt.because(
                Cause.OVER_BUDGET,
                f"Stopped after spending {shown(self.usage.cost)}; it may spend {shown(self._limit)}. "
                "What it did is kept.",
            )
