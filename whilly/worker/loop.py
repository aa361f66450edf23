"""A worker: claims tasks, as many at a time as it has slots, and sees each through to its report."""

import asyncio
import logging
import math
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from whilly.client.back_off import BackOff
from whilly.client.errors import ControlPlaneError, Rejected, Unreachable
from whilly.core.assignment import Assignment
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.wire.work import ClaimRequest, Release
from whilly.worker import clock
from whilly.worker.attempt import Attempt
from whilly.worker.delivery import Delivery
from whilly.worker.equipment import Equipment
from whilly.worker.interrupt import Interrupted, beside, unless
from whilly.worker.introduction import Introduction
from whilly.worker.journal import Journal
from whilly.worker.orders import Orders
from whilly.worker.roster import Roster
from whilly.worker.stop import Stop
from whilly.worker.unfinished import DIED, Left, Unfinished
from whilly.workspace.errors import NoSpace
from whilly.workspace.garbage import Swept, sweep
from whilly.workspace.space import require_space

log = logging.getLogger(__name__)

LOOK_FOR_SPACE_EVERY = 2.0
"""Seconds."""

LAST_TRY_SECONDS = 1.0
"""How long a worker that ends tries to bring reports that are late, and to find out about a claim without an answer."""


@dataclass(frozen=True, slots=True)
class Worked:
    """What a worker has done."""

    attempts: int
    """How many, those that were given back included."""
    missing: dict[str, str] = field(default_factory=dict)
    """Agents whose programs are not there, with a sentence each that says what to do."""
    undelivered: int = 0
    """Reports that wait in the journal for the next start."""
    unusable: str = ""
    """Why the repository cannot be worked in; the worker has ended for it."""
    superseded: str = ""
    """Which other process works under this identity now; the worker has ended for it."""


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
        self._roster = Roster(equipment.runners, self._lacks, self._ending.set)
        self._journal = Journal(equipment.state, equipment.address)
        self._unfinished = Unfinished(self._journal.folder)
        self._introduction = Introduction(equipment, self._roster, slots, self._journal.folder)
        self._orders = Orders(equipment.control_plane, lambda: self._introduction.session, self._superseded_by)
        self._delivery = Delivery(equipment.control_plane, self._journal, equipment.tell)
        self._attempts = 0
        self._back_off = BackOff(0.2, 10)
        self._in_contact = True
        self._has_space = True
        self._noted: set[str] = set()
        self._unusable = ""
        self._superseded = ""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it can run, as far as it has found out."""
        return self._roster.available

    def end(self) -> None:
        """Claim nothing more; what has begun is brought to its end."""
        self._ending.set()

    async def run(self, stop: Stop) -> Worked:
        """Work. Raises Rejected when the control plane does not want this worker at all."""
        left = await asyncio.to_thread(self._unfinished.left)
        async with beside(self._heed(stop)):
            await self._roster.look()
            with suppress(Interrupted):
                await unless(self._ending, self._begin())
            works = (
                self._delivery.run(),
                self._tidy(left),
                self._orders.run(),
                self._introduction.keep(self._orders.supersede),
            )
            async with beside(*works):
                await self._fill_slots(stop)
                undelivered, _ = await asyncio.gather(
                    self._delivery.last_try(LAST_TRY_SECONDS), self._introduction.farewell(LAST_TRY_SECONDS)
                )
        return Worked(self._attempts, self._roster.missing, undelivered, self._unusable, self._superseded)

    async def _begin(self) -> None:
        """Be admitted. Raises Rejected: another process may work under this identity, or the token is none."""
        admission = await self._introduction.begin(lambda why: self._say_contact(False, why))
        self._say_contact(True, "The control plane answers again.")
        self._equipment.admitted(admission.worker)
        if admission.draining:
            self._equipment.tell(
                f"This worker is drained: it takes no tasks until `whilly worker resume {admission.worker}`."
            )

    async def _heed(self, stop: Stop) -> None:
        await stop.wait()
        self._ending.set()

    def _superseded_by(self, why: str) -> None:
        if not self._superseded:
            self._superseded = why
            self._equipment.tell(why)
        self._ending.set()

    def _lacks(self, sentence: str) -> None:
        self._equipment.tell(sentence)
        self._introduction.changed()

    async def _tidy(self, left: Sequence[Left]) -> None:
        """Save the work of attempts whose worker died, remove their clones, and give up their leases."""
        try:
            swept = await sweep(self._equipment.workspaces)
        except OSError:
            log.exception("The workspaces of dead workers could not be looked at")
            swept = Swept()
        kept = {(each.plan, each.task, each.epoch): each.collected.kept_ref for each in swept.salvaged}
        for (_, task, epoch), ref in kept.items():
            self._note(f"{task}: what attempt {epoch} left when its worker died is {ref}.")
        for each in left:
            key = each.key
            await self._give_up(each, kept.get((key.plan, key.task, key.epoch), ""))

    async def _give_up(self, left: Left, kept_ref: str) -> None:
        """Say that an attempt died with an earlier process of this worker, so that nobody waits for its lease to end.

        A report that waits in the journal says more, and is brought instead. The first such death of a task is not
        counted, for workers die of much; from the second on it is, for the task may be what they die of.
        """
        key = left.key
        if not await asyncio.to_thread(self._journal.has_report, key):
            try:
                if left.again:
                    report = Report(Outcome.LOST_WORKER, reason=DIED, kept_ref=kept_ref)
                    await self._control_plane.finish(key, report, within=math.inf)
                else:
                    release = Release("restart", kept_ref=kept_ref, reason=DIED)
                    await self._control_plane.release(key, release, within=math.inf)
            except Rejected as refusal:
                log.info("attempt %d of %s was over already: %s", key.epoch, key.task, refusal)
        await asyncio.to_thread(self._unfinished.end, key)

    async def _fill_slots(self, stop: Stop) -> None:
        slots = [asyncio.create_task(self._slot(stop, number)) for number in range(self._slots)]
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

    async def _slot(self, stop: Stop, number: int) -> None:
        try:
            await self._work(stop, number)
        except Rejected as refusal:
            if refusal.kind == "superseded":
                self._orders.supersede(str(refusal))
            self._ending.set()
            raise
        except Exception:
            self._ending.set()
            raise

    async def _work(self, stop: Stop, slot: int) -> None:
        """One task after another."""
        adopted = await asyncio.to_thread(self._unfinished.asked, slot)
        while not self._ending.is_set() and self._take_permit():
            await self._wait_for_space()
            if self._ending.is_set():
                return
            # A claim of an earlier process was sent nobody knows when: its lease has to be renewed at once.
            asked_at = clock.now() if not adopted else -math.inf
            claim_id, adopted = adopted or uuid.uuid4().hex, ""
            self._unfinished.ask(slot, claim_id)
            assignment = await self._claim(claim_id)
            if assignment is not None:
                await asyncio.to_thread(self._unfinished.begin, assignment)
            self._unfinished.answered(slot)
            if assignment is None:
                self._return_permit()
                continue
            attempt = Attempt(
                assignment,
                self._equipment,
                self._roster,
                self._delivery,
                orders=self._orders,
                claimed_at=asked_at,
                note=self._note,
            )
            self._equipment.began(assignment)
            ended = await attempt.run(stop)
            self._unfinished.end(assignment.key)
            self._introduction.look_at_disk()
            self._attempts += 1
            self._equipment.ended(ended)
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

    async def _claim(self, claim_id: str) -> Assignment | None:
        """A task, once there is one; None when this look brought none or the worker ends.

        Without an answer the same claim is asked again: if it was granted, this is how the worker learns of it.
        """
        request = ClaimRequest(
            claim_id,
            self._equipment.plan,
            self._roster.available,
            self._equipment.claim_wait_seconds,
            self._equipment.tags,
            self._equipment.isolation,
            self._introduction.session,
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
        again = replace(request, wait_seconds=0)
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
            self._introduction.changed("" if now else sentence)
        self._has_space = now
