"""Brings reports from the journal to the control plane, for as long as that takes."""

import asyncio
import logging
from collections.abc import Callable

from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import ControlPlaneError, LeaseLostRemotely, Rejected, Unreachable
from whilly.core.assignment import AttemptKey
from whilly.wire.work import FinishAnswer
from whilly.worker.journal import Entry, Journal

log = logging.getLogger(__name__)

FOR_GOOD = frozenset(
    {"conflicting_report", "illegal_transition", "malformed", "not_yours", "too_large", "unknown_plan", "unknown_task"}
)
"""Refusals of the report itself. Any other is about the worker or the server (a token, a version, an address), and the
report may still be taken when that has changed."""


class Delivery:
    """One attempt's report goes out at once; what could not be brought is tried again, also after a restart."""

    def __init__(self, control_plane: ControlPlane, journal: Journal, tell: Callable[[str], None]) -> None:
        self._control_plane = control_plane
        self._journal = journal
        self._tell = tell
        self._late: dict[AttemptKey, Entry] = {}
        self._refused: dict[AttemptKey, str] = {}
        """What was said about late reports, so that it is said once."""
        self._more = asyncio.Event()
        self._back_off = BackOff(0.2, 5.0)

    async def bring(self, entry: Entry, within: float) -> FinishAnswer | None:
        """Write the report down, then hand it in. None when it was not taken for good: it is tried again from `run`."""
        await self.keep(entry)
        try:
            return await self._hand_in(entry, within)
        except (ControlPlaneError, asyncio.CancelledError) as failure:
            self._is_late(entry)
            if isinstance(failure, asyncio.CancelledError):
                raise
            self._tell_late(entry, str(failure))
            return None

    async def postpone(self, entry: Entry, why: str) -> None:
        """Write the report down and bring it later."""
        await self.keep(entry)
        self._is_late(entry)
        self._tell_late(entry, why)

    def _is_late(self, entry: Entry) -> None:
        self._late[entry.key] = entry
        self._more.set()

    def _tell_late(self, entry: Entry, why: str) -> None:
        self._tell(f"{entry.key.task}: the report could not be delivered yet and is kept. {why}")

    async def keep(self, entry: Entry) -> None:
        """Write the report down, as far as the disk lets it."""
        try:
            await asyncio.to_thread(self._journal.keep, entry)
        except OSError as failure:
            log.warning("The report of %s could not be kept on disk: %s", entry.key.task, failure)

    async def run(self) -> None:
        """Bring what an earlier process left behind, then whatever is late, until cancelled."""
        left_behind = await asyncio.to_thread(self._journal.due)
        for entry in left_behind:
            self._late.setdefault(entry.key, entry)
        failures = 0
        while True:
            if not self._late:
                self._more.clear()
                await self._more.wait()
            failures = 0 if await self._round() else failures + 1
            if failures:
                await asyncio.sleep(self._back_off.seconds(failures))

    async def last_try(self, within: float) -> int:
        """Try once more what is late, for so many seconds; the number of reports that stay in the journal."""
        try:
            async with asyncio.timeout(within):
                await self._round()
        except TimeoutError:
            pass
        return len(self._late)

    async def _round(self) -> bool:
        """Try each late report once; whether all of them were taken."""
        for key, entry in list(self._late.items()):
            try:
                await self._hand_in(entry, 0)
            except Unreachable:
                # Last in line from now on: a report that the control plane fails at holds up no other.
                self._late[key] = self._late.pop(key)
                return False
            except Rejected as refusal:
                if self._refused.get(key) != str(refusal):
                    self._refused[key] = str(refusal)
                    log.warning("The report of %s waits: %s", key.task, refusal)
                continue
            self._late.pop(key, None)
            self._refused.pop(key, None)
        return not self._late

    async def _hand_in(self, entry: Entry, within: float) -> FinishAnswer | None:
        """The answer; None when the report is refused for good. Raises where it may still be taken."""
        without_transcript = await self._rest_of_transcript(entry)
        try:
            answer = await self._control_plane.finish(entry.key, entry.report, within=within)
        except LeaseLostRemotely as lost:
            self._tell(f"{entry.key.task}: {lost}{_kept(entry)}")
            answer = None
        except Rejected as refusal:
            if refusal.kind not in FOR_GOOD:
                raise
            await self._set_aside(entry, refusal)
            return None
        if without_transcript:
            log.warning("The end of the transcript of %s is lost: %s", entry.key.task, without_transcript)
        await asyncio.to_thread(self._journal.settle, entry.key)
        return answer

    async def _rest_of_transcript(self, entry: Entry) -> Rejected | None:
        """Why it was refused. It is lost only when the report is taken all the same."""
        if not entry.transcript:
            return None
        try:
            await self._control_plane.transcript(entry.key, entry.transcript)
        except Rejected as refusal:
            return refusal
        return None

    async def _set_aside(self, entry: Entry, refusal: Rejected) -> None:
        path = await asyncio.to_thread(self._journal.set_aside, entry.key)
        self._tell(f"{entry.key.task}: the report was refused and lies in {path}. {refusal}{_kept(entry)}")


def _kept(entry: Entry) -> str:
    ref = entry.report.kept_ref
    return f" The work is kept at {ref}." if ref else ""
