"""The files of the mirror: one that grows, older ones beside it, and a mark of how far they go.

Only one process at a time has them open. Each line is whole or not there, whatever fails in between.
"""

import errno
import os
import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from whilly.workspace.locks import held_at_once

NAME: Final = "whilly_events.jsonl"
LARGEST: Final = 64_000_000
"""Bytes of a file before the next one is begun; a single batch of lines may go beyond."""

KEPT: Final = 10
"""Older files that stay."""

_OLDER = re.compile(r"whilly_events\.\d{12,}\.jsonl")


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file goes: the position of its last event, and that event's hash, which no other log has there."""

    position: int
    hash: str


class MirrorFiles:
    """The folder of the mirror. All methods block, and raise OSError."""

    def __init__(self, folder: Path, *, largest: int = LARGEST, kept: int = KEPT) -> None:
        self._folder = folder
        self._path = folder / NAME
        self._cursor = folder / "whilly_events.cursor"
        self._lock = folder / "whilly_events.lock"
        self._largest = largest
        self._kept = kept
        self._open = ExitStack()
        self._file = -1
        self._held: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        """The file that grows."""
        return self._path

    def open(self) -> tuple[bool, bool]:
        """Whether this process may write, and whether it was so already: if not, look at `mark` first.

        The folder and its files are made where they are missing, also when somebody moved or removed them meanwhile.
        """
        if self._file >= 0 and self._in_place():
            return True, True
        self.close()
        with ExitStack() as opening:
            if not opening.enter_context(held_at_once(self._lock)):
                return False, False
            self._held = _identity(self._lock)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            opening.callback(self._close_file)
            self._open = opening.pop_all()
        return True, False

    def close(self) -> None:
        """Let others write."""
        self._open.close()

    def mark(self) -> Mark | None:
        """How far the files go; None when they hold nothing. Half a line at the end is cut off."""
        return self._last_line() or self._cursor_mark()

    def append(self, lines: bytes, mark: Mark) -> None:
        """Add whole lines; `mark` is that of the last one. After an error nothing of them is there."""
        if self._file < 0:
            raise FileNotFoundError(errno.ENOENT, "the file is not open")
        size = os.fstat(self._file).st_size
        if size and size + len(lines) > self._largest:
            self.set_aside()
            size = 0
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, size)
            raise
        self._note(mark)

    def set_aside(self) -> Path | None:
        """Begin a new file; gives the old one's new name, None when it was empty."""
        mark = self._last_line()
        if mark is None:
            return None
        older = self._folder / f"whilly_events.{mark.position:012}.jsonl"
        number = 0
        while older.exists():
            number += 1
            older = self._folder / f"whilly_events.{mark.position:012}{number:03}.jsonl"
        os.fsync(self._file)
        # Closed first, for Windows renames no file that is open.
        self._close_file()
        self._path.rename(older)
        self._note(mark)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        for path in self._older()[: -self._kept]:
            path.unlink()
        return older

    def start_over(self) -> Path | None:
        """Forget how far the files go, for they belong to another log; gives the name under which they are kept."""
        kept = self.set_aside()
        self._cursor.unlink(missing_ok=True)
        return kept

    def _older(self) -> list[Path]:
        found = (path for path in self._folder.iterdir() if _OLDER.fullmatch(path.name))
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def _in_place(self) -> bool:
        """Whether the files that are open are still those that have the names."""
        there = os.fstat(self._file)
        return _identity(self._path) == (there.st_dev, there.st_ino) and _identity(self._lock) == self._held

    def _last_line(self) -> Mark | None:
        size = os.fstat(self._file).st_size
        length = 0
        while length < size:
            length = min(max(length * 4, 1_000_000), size)
            tail = _read(self._file, size - length, length)
            whole = tail[: tail.rfind(b"\n") + 1]
            if not whole and length < size:
                continue
            if len(whole) < len(tail):
                os.ftruncate(self._file, size - len(tail) + len(whole))
                return self._last_line()
            # The first of these lines may be the end of one that begins before the tail; then it is no JSON.
            for line in reversed(whole.splitlines()):
                if (mark := _mark_of(line)) is not None:
                    return mark
        return None

    def _cursor_mark(self) -> Mark | None:
        try:
            return _mark_of(self._cursor.read_bytes())
        except FileNotFoundError:
            return None

    def _note(self, mark: Mark) -> None:
        new = self._cursor.with_suffix(".new")
        # Whoever reads it makes do with the last line where it is missing; only an empty file needs it.
        with suppress(OSError):
            new.write_bytes(msgspec.json.encode({"position": mark.position, "hash": mark.hash}))
            new.replace(self._cursor)

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _read(file: int, start: int, length: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    read = bytearray()
    while len(read) < length and (piece := os.read(file, length - len(read))):
        read += piece
    return bytes(read)


def _mark_of(line: bytes) -> Mark | None:
    try:
        return msgspec.json.decode(line, type=Mark)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
