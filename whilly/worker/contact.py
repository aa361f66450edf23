"""An attempt's connection with the control plane: sign of life, events, transcript, and how it ends."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from whilly.agents.runner import Progress
from whilly.client.errors import ControlPlaneError, LeaseLostRemotely, Rejected, Unreachable
from whilly.core.assignment import Assignment
from whilly.core.evidence import Report
from whilly.core.redaction import Redactor
from whilly.wire.work import AttemptEvent, FinishAnswer, Release, Start
from whilly.worker import clock
from whilly.worker.delivery import Delivery
from whilly.worker.equipment import Equipment
from whilly.worker.halt import Cause, Halt
from whilly.worker.happenings import Happenings
from whilly.worker.heartbeat import Pulse
from whilly.worker.interrupt import Interrupted, beside, unless
from whilly.worker.journal import Entry
from whilly.worker.known_secrets import secrets_in
from whilly.worker.outbox import Outbox
from whilly.worker.stop import Stop
from whilly.worker.transcript import Transcript
from whilly.worker.wording import Wording

log = logging.getLogger(__name__)

Value = TypeVar("Value")

FLUSH_SECONDS = 3.0
"""How long the end of an attempt waits for its events, and for its transcript, to be taken."""

DELIVERY_SECONDS = 30.0
"""How long a slot waits for the answer to its report and keeps the lease; afterwards the journal goes on alone."""

LAST_WORDS_SECONDS = 1.5
"""How long an attempt that is ended in a hurry tries to give its task back."""


class Contact:
    """Open for as long as the attempt lasts. Whoever does the work sets `pulse.phase` and heeds `halt`."""

    def __init__(self, assignment: Assignment, equipment: Equipment, delivery: Delivery, claimed_at: float) -> None:
        """`claimed_at`: when the claim was sent, by `clock.now`."""
        key = assignment.key

        async def send(events: Sequence[AttemptEvent]) -> None:
            await equipment.control_plane.events(key, events)

        self.halt = Halt()
        self.pulse = Pulse(
            equipment.control_plane,
            key,
            self.halt,
            limit=assignment.limit,
            lease_seconds=assignment.lease_seconds,
            interval_seconds=equipment.heartbeat_seconds,
            claimed_at=claimed_at,
        )
        self.happenings = Happenings(assignment, equipment.worker)
        secrets = equipment.secrets + secrets_in(equipment.environment)
        self.wording = Wording(secrets)
        self.characters = 0
        """How much the agent has printed."""
        self._key = key
        self._lease_seconds = assignment.lease_seconds
        self._equipment = equipment
        self._delivery = delivery
        self._events: Outbox[AttemptEvent] = Outbox("events", send, weigh=_weight, linger_seconds=0.1)
        self._transcript = Transcript(equipment.control_plane, key, Redactor(secrets))
        self._shutting = asyncio.Event()
        self._shut_at = float("inf")

    @asynccontextmanager
    async def opened(self, stop: Stop) -> AsyncIterator[None]:
        """Keep the lease and send what there is, until closed."""
        async with beside(self.pulse.keep(), self._events.run(), self._transcript.run(), self._heed(stop)):
            yield

    def tell(self, event: AttemptEvent) -> None:
        """Have it written into the log soon."""
        self._events.put(self.wording.event(event))

    async def hear(self, progress: Progress) -> None:
        """Take what an agent's runner tells while it runs."""
        if progress.text:
            self.characters += len(progress.text)
            self._transcript.add(progress.text)
            self.pulse.last_line = self.wording.line(progress.text) or self.pulse.last_line
        if progress.usage:
            self._equipment.allowance.used(self._key, progress.usage.cost)
            await self.pulse.meter.used(progress.usage)

    async def begin(self, start: Start) -> bool:
        """Say that the agent is about to run; False when it must not, for `halt` says why."""
        await self._events.flush(FLUSH_SECONDS)
        try:
            await unless(self.halt, self._equipment.control_plane.start(self._key, start, within=self._lease_seconds))
        except Interrupted:
            return False
        except Unreachable as failure:
            self.halt.because(Cause.OUT_OF_CONTACT, str(failure))
        except Rejected as refusal:
            self.halt.because(Cause.LEASE_LOST, str(refusal))
        return not self.halt.is_set()

    async def hand_in(self, report: Report) -> FinishAnswer | None:
        """Bring the report; None while there is no answer to it."""
        # First of all: from here on the result survives the end of this process.
        await self._delivery.keep(Entry(self._key, report))
        await self._events.flush(self.seconds_left(FLUSH_SECONDS))
        rest = await self._transcript.end(self.seconds_left(FLUSH_SECONDS))
        bringing = asyncio.ensure_future(self._delivery.bring(Entry(self._key, report, rest), DELIVERY_SECONDS))
        try:
            await unless(self._shutting, asyncio.wait({bringing}))
        except Interrupted:
            await asyncio.wait({bringing}, timeout=self.seconds_left(FLUSH_SECONDS))
        finally:
            bringing.cancel()
        with suppress(asyncio.CancelledError):
            return await bringing
        return None

    async def give_back(self, cause: str, report: Report) -> FinishAnswer | None:
        """Release the task, so that no attempt is used up. What cannot be sent now is kept as a report."""
        await self._events.flush(self.seconds_left(FLUSH_SECONDS))
        rest = await self._transcript.end(self.seconds_left(FLUSH_SECONDS))
        within = self.seconds_left(FLUSH_SECONDS)
        try:
            async with asyncio.timeout(within):
                return await self._release(cause, report, within)
        except LeaseLostRemotely:
            return None
        except (ControlPlaneError, TimeoutError) as failure:
            await self._delivery.postpone(Entry(self._key, report, rest), str(failure) or "It did not answer.")
            return None

    async def last_words(self, cause: str, report: Report) -> None:
        """The same in a hurry, as far as it goes."""
        with suppress(TimeoutError, ControlPlaneError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._release(cause, report, LAST_WORDS_SECONDS)

    async def publishing(self, work: Coroutine[Any, Any, Value]) -> Value:
        """The result of work that brings a result to others. Raises Interrupted when that has to be given up.

        That is when the task is not this worker's own any more, and, a little later, when the worker was told to stop.
        Having reached the budget is no reason: the agent's work is done.
        """
        given_up = asyncio.Event()

        async def look() -> None:
            await self.halt.wait()
            if self.halt.cause in (Cause.SHUTDOWN, Cause.OVER_BUDGET):
                await self._shutting.wait()
                await asyncio.sleep(max(self._shut_at - clock.now() - FLUSH_SECONDS, 0))
            given_up.set()

        async with beside(look()):
            return await unless(given_up, work)

    def seconds_left(self, most: float) -> float:
        """So much time, or what a shutdown leaves of it."""
        return min(most, max(self._shut_at - clock.now(), 0.2))

    async def _release(self, cause: str, report: Report, within: float) -> FinishAnswer:
        release = Release(cause, report.usage, report.kept_ref, report.reason)
        return await self._equipment.control_plane.release(self._key, release, within=within)

    async def _heed(self, stop: Stop) -> None:
        await stop.wait()
        # The last two seconds belong to the worker itself.
        self._shut_at = clock.now() + self._equipment.shutdown_seconds - 2
        self._shutting.set()
        self.halt.because(Cause.SHUTDOWN, "The worker was told to stop.")


def _weight(event: AttemptEvent) -> int:
    return 500 + sum(2 * len(text) for text in (event.detail or {}).values() if isinstance(text, str))
