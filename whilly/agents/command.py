"""What to run, within which limits, and how it went: the values of `process.run_process`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

MARKER = "WHILLY_ATTEMPT"
"""Environment variable that every process of a run carries, with a value of its own for each run."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, where and with what it runs. No shell takes part."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """All of it: nothing is inherited."""
    stdin: bytes = b""
    """Read from an unlinked file, so nobody has to feed it; without any the child reads from the null device."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a run may take."""

    timeout_seconds: float | None = None
    stall_seconds: float | None = None
    """Longest time without a sign of work in the output."""
    grace_seconds: float = 5
    """Between TERM and KILL."""
    drain_seconds: float = 2
    """How long output is waited for when the family is dead and somebody outside still holds the pipe."""


class Ended(StrEnum):
    """What ended a run."""

    EXITED = "exited"
    """The child itself."""
    STOPPED = "stopped"
    """The caller's stop signal."""
    TIMED_OUT = "timed_out"
    STALLED = "stalled"
    LOST = "lost"
    """Something killed its supervisor, so its end was not seen; the family was killed."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a run went. Nothing of it is left."""

    ended: Ended
    exit_code: int | None
    """Negative: the signal that killed it. Not to be believed when `ended` is not EXITED."""
    seconds: float
    killed: int = 0
    """Other processes of its family that had to be ended: after every run nothing of it may live on."""
    left: int = 0
    """Processes that even SIGKILL did not end within seconds: they hang in the kernel."""


class Sink(Protocol):
    """Takes output as it comes."""

    async def write(self, data: bytes) -> bool:
        """Take what came; it may begin and end anywhere. True: it shows that work goes on (for `stall_seconds`)."""

    async def end(self) -> None:
        """No more will come."""


class CannotStart(Exception):
    """The program could not be started; the text is a sentence that says why."""

    def __init__(self, sentence: str, *, number: int = 0, stage: str = "exec") -> None:
        super().__init__(sentence)
        self.number = number
        """The errno."""
        self.stage = stage
        """What failed: `chdir`, `exec`, `fork` or `prepare`."""
