"""Why an attempt has to end before its agent thinks so."""

import asyncio
from enum import StrEnum


class Cause(StrEnum):
    """What ended an attempt from outside."""

    SHUTDOWN = "shutdown"
    """The worker was told to stop."""
    CANCELLED = "cancelled"
    """A person cancelled the task."""
    LEASE_LOST = "lease_lost"
    """The control plane said that the attempt is not this worker's any more."""
    OUT_OF_CONTACT = "out_of_contact"
    """The lease could be given away soon, and no heartbeat was answered."""
    SUPERSEDED = "superseded"
    """Another process works under this worker's identity now."""
    OVER_BUDGET = "over_budget"
    """The agent has spent what it may."""
    RUN_BUDGET = "run_budget"
    """All agents of this run together have."""


OF_MONEY = frozenset({Cause.OVER_BUDGET, Cause.RUN_BUDGET})


class Halt:
    """The order to end, given once: the first cause is the one that counts. Serves agents as their stop signal."""

    def __init__(self) -> None:
        self._given = asyncio.Event()
        self.cause: Cause | None = None
        self.reason = ""
        self.dead_by: float | None = None
        """When agent and checks are dead whatever became of this process, by `clock.now`; None: not known yet."""
        self._postponed = asyncio.Event()

    def because(self, cause: Cause, reason: str) -> None:
        """Give the order; `reason` is a sentence for people."""
        if self.cause is None:
            self.cause, self.reason = cause, reason
            self._given.set()

    def postpone(self, dead_by: float) -> None:
        """The lease lasts longer now."""
        self.dead_by = dead_by
        self._postponed.set()
        self._postponed = asyncio.Event()

    async def postponed(self) -> object:
        """Return when the lease was renewed."""
        return await self._postponed.wait()

    def forgive_money(self) -> None:
        """The agent was done before it could be stopped for its spending, so nothing has to be stopped any more."""
        if self.cause in OF_MONEY:
            self.cause, self.reason = None, ""
            self._given.clear()

    def is_set(self) -> bool:
        """Whether the attempt shall end now."""
        return self._given.is_set()

    async def wait(self) -> object:
        """Return when the order was given."""
        return await self._given.wait()
