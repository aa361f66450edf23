"""A worker: claims tasks, as many at a time as it has slots, and sees each through to its report."""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from whilly.client.back_off import BackOff
from whilly.client.errors import ControlPlaneError, Rejected, Unreachable
from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.wire.work import ClaimRequest, Release
from whilly.worker import clock
from whilly.worker.attempt import Attempt, Ended
from whilly.worker.delivery import Delivery
from whilly.worker.equipment import Equipment
from whilly.worker.interrupt import Interrupted, beside, unless
from whilly.worker.journal import Journal
from whilly.worker.roster import Roster
from whilly.worker.stop import Stop
from whilly.workspace.errors import NoSpace
from whilly.workspace.garbage import Swept, sweep
from whilly.workspace.space import require_space

log = logging.getLogger(__name__)

LOOK_FOR_SPACE_EVERY = 2.0
"""Seconds."""

DIED = "Its worker ended without a report: it was killed, or its machine stopped."

LAST_TRY_SECONDS = 1.0
"""How long a worker that ends tries to bring reports that are late, and to find out about a claim without an answer."""


@dataclass(frozen=True, slots=True)
class Worked:
    """What a worker has done."""

    attempts: tuple[Ended, ...]
    missing: dict[str, str] = field(default_factory=dict)
    """Agents whose programs are not there, with a sentence each that says what to do."""
    undelivered: int = 0
    """Reports that wait in the journal for the next start."""
    unusable: str = ""
    """Why the repository cannot be worked in; the worker has ended for it."""


class Worker:
    """Claims until told to stop, until it has worked enough, or until no task would go well: its default agent is
    missing, or the repository cannot be worked in.
    """

    def __init__(self, equipment: Equipment, *, slots: int = 1, max_tasks: int | None = None) -> None:
        """`max_tasks` counts attempts that end with a report; one that was given back does not count."""
        self._equipment = equipment
        self._control_plane = equipment.control_plane
        self._slots = slots
        self._left = max_tasks
        if equipment.in_place and slots != 1:
            raise ValueError("in the user's own tree there is room for one task at a time")
        self._ending = asyncio.Event()
        self._roster = Roster(equipment.runners, equipment.tell, self._ending.set)
        self._journal = Journal(equipment.state, equipment.address)
        self._delivery = Delivery(equipment.control_plane, self._journal, equipment.tell)
        self._ended: list[Ended] = []
        self._back_off = BackOff(0.2, 10)
        self._in_contact = True
        self._has_space = True
        self._noted: set[str] = set()
        self._unusable = ""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it can run, as far as it has found out."""
        return self._roster.available

    async def run(self, stop: Stop) -> Worked:
        """Work. Raises Rejected when the control plane does not want this worker at all."""
        abandoned = await asyncio.to_thread(self._journal.abandoned)
        async with beside(self._delivery.run(), self._heed(stop), self._tidy(abandoned)):
            await self._roster.look()
            await self._fill_slots(stop)
            undelivered = await self._delivery.last_try(LAST_TRY_SECONDS)
        return Worked(tuple(self._ended), self._roster.missing, undelivered, self._unusable)

    async def _heed(self, stop: Stop) -> None:
        await stop.wait()
        self._ending.set()

    async def _tidy(self, abandoned: Sequence[AttemptKey]) -> None:
        """Save the work of attempts whose worker died, remove their clones, and give up their leases."""
        try:
            swept = await sweep(self._equipment.workspaces)
        except OSError:
            log.exception("The workspaces of dead workers could not be looked at")
            swept = Swept()
        kept = {(each.plan, each.task, each.epoch): each.collected.kept_ref for each in swept.salvaged}
        for (_, task, epoch), ref in kept.items():
            self._note(f"{task}: what attempt {epoch} left when its worker died is {ref}.")
        for key in abandoned:
            await self._give_up(key, kept.get((key.plan, key.task, key.epoch), ""))

    async def _give_up(self, key: AttemptKey, kept_ref: str) -> None:
        """Say that an attempt died with an earlier process of this worker, so that nobody waits for its lease to end.

        A report that waits in the journal says more, and is brought instead.
        """
        if not await asyncio.to_thread(self._journal.has_report, key):
            report = Report(Outcome.LOST_WORKER, reason=DIED, kept_ref=kept_ref)
            try:
                await self._control_plane.finish(key, report, within=LAST_TRY_SECONDS)
            except Unreachable:
                return
            except Rejected as refusal:
                log.info("attempt %d of %s was over already: %s", key.epoch, key.task, refusal)
        await asyncio.to_thread(self._journal.end, key)

    async def _fill_slots(self, stop: Stop) -> None:
        slots = [asyncio.create_task(self._slot(stop)) for _ in range(self._slots)]
        hurry = asyncio.create_task(self._hurry(stop, slots))
        try:
            ended = await asyncio.gather(*slots, return_exceptions=True)
        finally:
            hurry.cancel()
            for slot in slots:
                slot.cancel()
            await asyncio.gather(hurry, *slots, return_exceptions=True)
        for failure in ended:
            if isinstance(failure, Exception):
                raise failure

    async def _hurry(self, stop: Stop, slots: "list[asyncio.Task[None]]") -> None:
        await stop.urgent()
        for slot in slots:
            slot.cancel()

    async def _slot(self, stop: Stop) -> None:
        try:
            await self._work(stop)
        except Exception:
            self._ending.set()
            raise

    async def _work(self, stop: Stop) -> None:
        """One task after another."""
        while not self._ending.is_set() and self._take_permit():
            await self._wait_for_space()
            if self._ending.is_set():
                return
            asked_at = clock.now()
            assignment = await self._claim()
            if assignment is None:
                self._return_permit()
                continue
            attempt = Attempt(
                assignment, self._equipment, self._roster, self._delivery, claimed_at=asked_at, note=self._note
            )
            self._journal.begin(assignment.key)
            ended = await attempt.run(stop)
            self._journal.end(assignment.key)
            self._ended.append(ended)
            if ended.unusable:
                self._unusable = ended.reason
                self._ending.set()
            if ended.outcome in (Outcome.RELEASED, Outcome.AGENT_MISSING):
                self._return_permit()

    async def _wait_for_space(self) -> None:
        """Claim nothing that the disk would not let end: one full disk must not use up the attempts of a whole plan."""
        while not self._ending.is_set():
            try:
                require_space(self._equipment.workspaces, self._equipment.floor)
            except NoSpace as full:
                self._say_space(False, f"{full} Until then this worker takes no tasks.")
            else:
                self._say_space(True, "There is space on the disk again.")
                return
            with suppress(Interrupted):
                await unless(self._ending, asyncio.sleep(LOOK_FOR_SPACE_EVERY))

    async def _claim(self) -> Assignment | None:
        """A task, once there is one; None when this look brought none or the worker ends.

        Without an answer the same claim is asked again: if it was granted, this is how the worker learns of it.
        """
        request = ClaimRequest(
            uuid.uuid4().hex, self._equipment.plan, self._roster.available, self._equipment.claim_wait_seconds
        )
        failures = 0
        while True:
            try:
                assignment = await unless(self._ending, self._control_plane.claim(request))
            except Interrupted:
                await self._decline(request)
                return None
            except Unreachable as failure:
                failures += 1
                self._say_contact(False, str(failure))
                with suppress(Interrupted):
                    await unless(self._ending, asyncio.sleep(self._back_off.seconds(failures)))
                continue
            self._say_contact(True, "The control plane answers again.")
            return assignment

    async def _decline(self, request: ClaimRequest) -> None:
        """The worker ends, and the answer to this claim never came: if it was granted, give the task back."""
        again = ClaimRequest(request.claim_id, request.plan, request.agents)
        with suppress(ControlPlaneError, TimeoutError):
            async with asyncio.timeout(LAST_TRY_SECONDS):
                granted = await self._control_plane.claim(again)
                if granted is not None:
                    await self._control_plane.release(granted.key, Release("shutdown"))

    def _take_permit(self) -> bool:
        if self._left is None:
            return True
        if self._left == 0:
            return False
        self._left -= 1
        return True

    def _return_permit(self) -> None:
        if self._left is not None:
            self._left += 1

    def _note(self, sentence: str) -> None:
        """Tell it, unless it was told before: each attempt finds the same uncommitted files."""
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._equipment.tell(sentence)

    def _say_contact(self, now: bool, sentence: str) -> None:
        if now is not self._in_contact:
            self._equipment.tell(sentence)
        self._in_contact = now

    def _say_space(self, now: bool, sentence: str) -> None:
        if now is not self._has_space:
            self._equipment.tell(sentence)
        self._has_space = now
