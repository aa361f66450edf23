"""Keeps on disk which attempts are open, and each finished report until the control plane has acknowledged it."""

import contextlib
import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from whilly.core.assignment import AttemptKey
from whilly.core.evidence import Report
from whilly.wire.codec import decode, encode
from whilly.wire.work import TranscriptChunk

log = logging.getLogger(__name__)

ENTRY = ".json"
OPEN = ".open"
SET_ASIDE = ".set-aside"


@dataclass(frozen=True, slots=True)
class Entry:
    """A report that is due, with the end of the transcript as far as that could not be sent before."""

    key: AttemptKey
    report: Report
    transcript: tuple[TranscriptChunk, ...] = ()


class Journal:
    """A folder with one file per report. Written, flushed and renamed, so that a reader sees a whole one or none."""

    def __init__(self, state_dir: Path, control_plane: str) -> None:
        """`control_plane` names whom the reports are for, its address for instance: no other one ever gets them."""
        self.folder = state_dir / "journal" / hashlib.sha256(control_plane.encode()).hexdigest()[:16]

    def begin(self, key: AttemptKey) -> None:
        """Note that the attempt is open: a process that finds the note later knows that this one died. Never raises."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / _file_name(key)).with_suffix(OPEN).write_bytes(encode(key))

    def end(self, key: AttemptKey) -> None:
        """The attempt is over, and whatever is still to be said about it is a report that is kept."""
        with contextlib.suppress(OSError):
            (self.folder / _file_name(key)).with_suffix(OPEN).unlink()

    def abandoned(self) -> list[AttemptKey]:
        """Attempts that were begun and never ended. For a process that has begun none itself yet."""
        found = []
        for path in sorted(self.folder.glob(f"*{OPEN}")):
            try:
                found.append(decode(AttemptKey, path.read_bytes()))
            except (OSError, ValidationError, ValueError):
                # Cut off by the same crash: the end of the lease says it, only later.
                path.unlink(missing_ok=True)
        return found

    def has_report(self, key: AttemptKey) -> bool:
        """Whether a report about the attempt is kept."""
        return (self.folder / _file_name(key)).exists()

    def keep(self, entry: Entry) -> Path:
        """Write the entry down. Once this has returned it survives the process and the machine. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / _file_name(entry.key)
        draft = path.with_suffix(f".{os.getpid()}.draft")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode(entry))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(self.folder)
        return path

    def settle(self, key: AttemptKey) -> None:
        """The control plane has it: forget it. If that fails it is sent once more, which does no harm."""
        with contextlib.suppress(OSError):
            (self.folder / _file_name(key)).unlink()

    def set_aside(self, key: AttemptKey) -> Path:
        """The control plane will never take it: keep it for a person to look at, and send it no more."""
        path = self.folder / _file_name(key)
        aside = path.with_suffix(SET_ASIDE)
        with contextlib.suppress(OSError):
            path.replace(aside)
        return aside

    def due(self) -> list[Entry]:
        """All entries, oldest first. A file that cannot be read is set aside and named in the log."""
        found = []
        for path in sorted(self.folder.glob(f"*{ENTRY}"), key=_age):
            try:
                found.append(decode(Entry, path.read_bytes()))
            except FileNotFoundError:
                continue
            except (ValidationError, ValueError):
                log.warning("%s is not a report that this version can read; it is set aside", path)
                path.replace(path.with_suffix(SET_ASIDE))
        return found


def _file_name(key: AttemptKey) -> str:
    # The hash keeps names apart where a file system does not tell cases apart, and short.
    digest = hashlib.sha256(f"{key.plan}\0{key.task}\0{key.epoch}".encode()).hexdigest()[:16]
    return f"{key.task[:40]}-e{key.epoch}-{digest}{ENTRY}"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
