"""Keeps the lease of one attempt, brings back what is wanted of it, and gives up before the lease is given away."""

import asyncio
import logging

from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Rejected, Unreachable
from whilly.core.assignment import AttemptKey
from whilly.core.money import Micros
from whilly.wire.work import Heartbeat, HeartbeatAnswer
from whilly.worker import clock
from whilly.worker.halt import Cause, Halt
from whilly.worker.metering import Meter

log = logging.getLogger(__name__)

FENCE = 2 / 3
"""The share of the lease after which a worker without an answer gives up: 40 of 60 seconds, which leaves the agent's
five seconds of grace and the sweep's five far inside the lease."""

LAST_MOMENT = 5 / 6
"""The share of the lease after which the agent's supervisor kills it without being asked: this process may be stopped,
or hang. 50 of 60 seconds; giving up at 40, with the agent's grace of five, comes before that."""

LONGEST_BEAT = 10.0
"""Seconds one heartbeat may take."""


class Pulse:
    """The sign of life of one attempt. Phase and last line are set by whoever does the work."""

    def __init__(
        self,
        control_plane: ControlPlane,
        key: AttemptKey,
        halt: Halt,
        *,
        limit: Micros | None,
        lease_seconds: float,
        interval_seconds: float,
        claimed_at: float,
    ) -> None:
        """`claimed_at` is when the claim was *sent*, by `clock.now`: the lease cannot have begun earlier."""
        self.phase = "preparing"
        self.last_line = ""
        self.meter = Meter(limit, halt, self._beat_now)
        self._control_plane = control_plane
        self._key = key
        self._halt = halt
        self._interval = min(interval_seconds, lease_seconds / 4)
        self._longest_beat = min(LONGEST_BEAT, lease_seconds / 4)
        # A claim that waited long for its answer has little time left by this clock: the first heartbeat is due at
        # once then, and gets a moment to be answered.
        self._next = claimed_at + self._interval
        self._give_up_at = max(claimed_at + lease_seconds * FENCE, clock.now() + lease_seconds / 6)
        halt.postpone(max(claimed_at + lease_seconds * LAST_MOMENT, self._give_up_at + lease_seconds / 6))
        self._back_off = BackOff(self._interval / 8, self._interval)
        self._one_at_a_time = asyncio.Lock()

    async def keep(self) -> None:
        """Beat until cancelled or until the lease is lost."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._beat_on())
            group.create_task(self._give_up_in_time())

    def holds(self) -> bool:
        """Whether nobody else can have the task now, so that what others see may be written."""
        lost = self._halt.cause in (Cause.LEASE_LOST, Cause.OUT_OF_CONTACT)
        return not lost and clock.now() < self._give_up_at

    def check(self) -> None:
        """Give up if the moment for it has passed: after a pause of this process nothing else may come first."""
        if clock.now() >= self._give_up_at:
            self._out_of_contact()

    async def _beat_on(self) -> None:
        failures = 0
        while True:
            if (left := self._next - clock.now()) > 0:
                await asyncio.sleep(left)
                continue
            if clock.now() >= self._give_up_at:
                self._out_of_contact()
            try:
                await self._beat()
                failures = 0
            except Rejected as refusal:
                self._halt.because(Cause.LEASE_LOST, str(refusal))
                return
            except Exception as failure:
                failures += 1
                if not isinstance(failure, Unreachable | TimeoutError):
                    log.exception("A heartbeat of %s failed", self._key.task)
                self._next = clock.now() + self._back_off.seconds(failures)

    async def _beat_now(self) -> None:
        try:
            await self._beat()
        except Rejected as refusal:
            self._halt.because(Cause.LEASE_LOST, str(refusal))
        except Unreachable:
            self._next = clock.now()

    async def _beat(self) -> None:
        async with self._one_at_a_time, asyncio.timeout(self._longest_beat):
            sent = clock.now()
            beat = Heartbeat(self.phase, self.last_line, self.meter.usage)
            self._answered(sent, await self._control_plane.heartbeat(self._key, beat))

    def _answered(self, sent: float, answer: HeartbeatAnswer) -> None:
        self._next = sent + self._interval
        self._give_up_at = sent + answer.lease_seconds * FENCE
        self._halt.postpone(sent + answer.lease_seconds * LAST_MOMENT)
        if answer.cancel:
            self._halt.because(Cause.CANCELLED, "Cancelled by a person.")
        self.meter.limited(answer.limit)

    async def _give_up_in_time(self) -> None:
        # Short naps: a timer set before the machine went to sleep rings late.
        while True:
            left = self._give_up_at - clock.now()
            if left <= 0:
                return self._out_of_contact()
            await asyncio.sleep(min(left, 1.0))

    def _out_of_contact(self) -> None:
        self._halt.because(
            Cause.OUT_OF_CONTACT,
            "The control plane did not answer for so long that somebody else might get the task, so the work stopped.",
        )
