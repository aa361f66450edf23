"""Hears what cannot wait for the next heartbeat: one open request for all attempts of this process."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Rejected, Unreachable
from whilly.core.assignment import AttemptKey
from whilly.wire.presence import Orders as Received
from whilly.wire.presence import OrdersRequest
from whilly.worker import clock
from whilly.worker.halt import Cause, Halt

log = logging.getLogger(__name__)

WAIT_SECONDS = 30.0
TOO_SOON = 0.5
"""Seconds: a request that is answered sooner than this with nothing new is not repeated at once."""


REVOKED = "This worker's token was revoked, or has ended."


class Orders:
    """Asks while an attempt runs, and only then: an idle worker costs its control plane nothing here."""

    def __init__(
        self, control_plane: ControlPlane, session: Callable[[], int], superseded: Callable[[str], None]
    ) -> None:
        """`session` gives that of this process; `superseded` is told when another one has taken its place."""
        self._control_plane = control_plane
        self._session = session
        self._tell_superseded = superseded
        self._halts: dict[AttemptKey, Halt] = {}
        self._given: set[AttemptKey] = set()
        self._wanted = asyncio.Event()
        self._back_off = BackOff(0.5, 10)

    @contextmanager
    def reaching(self, key: AttemptKey, halt: Halt) -> Iterator[None]:
        """While open, orders for the attempt arrive at its halt."""
        self._halts[key] = halt
        self._wanted.set()
        try:
            yield
        finally:
            del self._halts[key]
            self._given.discard(key)
            if not self._halts:
                self._wanted.clear()

    async def run(self) -> None:
        """Listen until cancelled. Heartbeats bring the same, only later, where this finds nobody who answers."""
        failures = 0
        while True:
            await self._wanted.wait()
            asked_at = clock.now()
            try:
                received = await self._control_plane.orders(
                    OrdersRequest(self._session(), tuple(self._given), WAIT_SECONDS)
                )
            except (Rejected, Unreachable) as failure:
                failures += 1
                if isinstance(failure, Rejected) and failure.kind == "not_logged_in":
                    self.supersede(REVOKED)
                log.debug("no orders can be heard: %s", failure)
                await asyncio.sleep(self._back_off.seconds(failures))
                continue
            failures = 0
            heeded = received is not None and self._heed(received)
            if not heeded and clock.now() - asked_at < TOO_SOON:
                await asyncio.sleep(self._back_off.seconds(1))

    def supersede(self, why: str) -> None:
        """End all attempts: another process works under this identity."""
        for halt in self._halts.values():
            halt.because(Cause.SUPERSEDED, why)
        self._tell_superseded(why)

    def _heed(self, received: Received) -> bool:
        """Whether there was anything new in it."""
        new = [key for key in received.cancel if key not in self._given]
        for key in new:
            if halt := self._halts.get(key):
                self._given.add(key)
                halt.because(Cause.CANCELLED, "Cancelled by a person.")
        if received.superseded:
            self.supersede(REVOKED if received.revoked else "Another process works under this worker's identity now.")
        return bool(new) or received.superseded
