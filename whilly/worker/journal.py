"""Keeps each finished report on disk until the control plane has acknowledged it."""

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

    def has_report(self, key: AttemptKey) -> bool:
        """Whether a report about the attempt is kept."""
        return (self.folder / file_name(key)).exists()

    def keep(self, entry: Entry) -> Path:
        """Write the entry down. Once this has returned it survives the process and the machine. Raises OSError."""
        make_private(self.folder)
        path = self.folder / file_name(entry.key)
        write_whole(path, encode(entry))
        return path

    def settle(self, key: AttemptKey) -> None:
        """The control plane has it: forget it. If that fails it is sent once more, which does no harm."""
        with contextlib.suppress(OSError):
            (self.folder / file_name(key)).unlink()

    def set_aside(self, key: AttemptKey) -> Path:
        """The control plane will never take it: keep it for a person to look at, and send it no more."""
        path = self.folder / file_name(key)
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


def file_name(key: AttemptKey) -> str:
    """What the file about an attempt is called."""
    # The hash keeps names apart where a file system does not tell cases apart, and short.
    digest = hashlib.sha256(f"{key.plan}\0{key.task}\0{key.epoch}".encode()).hexdigest()[:16]
    return f"{key.task[:40]}-e{key.epoch}-{digest}{ENTRY}"


def make_private(folder: Path) -> None:
    """Have the folder, open to this user alone, and its parent as well. Raises OSError."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix" and each.stat().st_mode & 0o077:
            each.chmod(0o700)


def write_whole(path: Path, content: bytes) -> None:
    """Once this has returned, the file survives the process and the machine; before, the old one. Raises OSError."""
    draft = path.with_suffix(f".{os.getpid()}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_folder(path.parent)


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
