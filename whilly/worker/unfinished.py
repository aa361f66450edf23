"""Keeps on disk what this worker has under way, so that its next process need not wait for a lease to end."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from whilly.core.assignment import Assignment, AttemptKey
from whilly.wire.codec import decode, encode
from whilly.worker.journal import file_name, make_private, write_whole

OPEN = ".open"
ASKED = ".asked"

DIED = "Its worker ended without a report: it was killed, or its machine stopped."


@dataclass(frozen=True, slots=True)
class Left:
    """An attempt that an earlier process began and never ended."""

    key: AttemptKey
    claim_id: str = ""
    again: bool = False
    """The attempt before it ended the same way: the task itself may be what kills its workers."""


class Unfinished:
    """Notes in the journal's folder. What cannot be written only costs the wait for a lease, so nothing raises."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, assignment: Assignment) -> None:
        """The attempt is open."""
        again = assignment.earlier is not None and assignment.earlier.reason.startswith(DIED)
        left = Left(assignment.key, assignment.claim_id, again)
        with suppress(OSError):
            make_private(self._folder)
            write_whole(self._path(left.key), encode(left))

    def end(self, key: AttemptKey) -> None:
        """The attempt is over, and whatever is still to be said about it is a report that is kept."""
        with suppress(OSError):
            self._path(key).unlink()

    def left(self) -> list[Left]:
        """What was begun and never ended. For a process that has begun nothing itself yet."""
        found = []
        for path in sorted(self._folder.glob(f"*{OPEN}")):
            try:
                found.append(decode(Left, path.read_bytes()))
            except (OSError, ValidationError, ValueError):
                # Cut off by the same crash: the end of the lease says it, only later.
                path.unlink(missing_ok=True)
        return found

    def ask(self, slot: int, claim_id: str) -> None:
        """A claim goes out whose answer may grant a task before anybody here knows."""
        with suppress(OSError):
            make_private(self._folder)
            # Not flushed: this is for a process that is killed. A machine takes longer to come back than a lease lasts.
            self._asked(slot).write_text(claim_id, encoding="ascii")

    def answered(self, slot: int) -> None:
        """The answer to the slot's claim is here, and was noted where it granted a task."""
        with suppress(OSError):
            self._asked(slot).unlink()

    def asked(self, slot: int) -> str:
        """The claim that an earlier process sent for this slot and got no answer to; empty: none."""
        try:
            claim_id = self._asked(slot).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return ""
        return "" if claim_id in {left.claim_id for left in self.left()} else claim_id

    def _path(self, key: AttemptKey) -> Path:
        return (self._folder / file_name(key)).with_suffix(OPEN)

    def _asked(self, slot: int) -> Path:
        return self._folder / f"slot-{slot}{ASKED}"
