"""Reads what an agent wrote without following it anywhere.

A path below a folder that an agent controls may be a link to a secret, a pipe that never answers, or may change from
one look to the next. So each component is opened from the one before, without links, and only regular files are read.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)


def read_beneath(folder: Path, name: str, limit: int) -> bytes | None:
    """Up to `limit` bytes of a regular file below the folder; None when there is no such file, or only by a link."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or any(part in ("..", "") or "\0" in part for part in parts):
        return None
    try:
        with _opened(folder, parts) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return _read(descriptor, limit)
    except (OSError, ValueError):
        return None


def names_beneath(folder: Path, start: str, most: int) -> Iterator[str]:
    """The regular files below `folder/start`, named from the folder on; links are neither listed nor followed."""
    waiting = [start]
    found = 0
    while waiting:
        here = waiting.pop()
        # A link in place of the start, or of a folder on the way, leads nowhere.
        if not is_real_folder(folder / here):
            continue
        try:
            with os.scandir(folder / here) as entries:
                for entry in entries:
                    name = f"{here}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        found += 1
                        if found > most:
                            return
                        yield name
        except OSError:
            continue


def is_real_folder(path: Path) -> bool:
    """Whether the path is a folder itself and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


@contextmanager
def _opened(folder: Path, parts: tuple[str, ...]) -> Iterator[int]:
    if os.open not in os.supports_dir_fd:
        with _opened_by_name(folder, parts) as descriptor:
            yield descriptor
        return
    here = os.open(folder, os.O_RDONLY | _FOLDER)
    try:
        for number, part in enumerate(parts, 1):
            kind = _FOLDER if number < len(parts) else _NO_WAITING
            below = os.open(part, os.O_RDONLY | _NO_LINKS | kind, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


@contextmanager
def _opened_by_name(folder: Path, parts: tuple[str, ...]) -> Iterator[int]:
    for count in range(1, len(parts) + 1):
        if folder.joinpath(*parts[:count]).is_symlink():
            raise OSError("a link")
    descriptor = os.open(folder.joinpath(*parts), os.O_RDONLY | _BINARY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int) -> bytes:
    chunks = []
    while limit > 0 and (chunk := os.read(descriptor, min(limit, 1 << 20))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)
