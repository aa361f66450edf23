"""A lock between processes that dies with its holder: nothing has to be cleaned up after a crash."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from whilly.workspace.errors import WorkspaceFailed

FIRST_WAIT, LONGEST_WAIT = 0.001, 0.05
"""Seconds between two tries, growing."""


def lock_of(root: Path, subject: Path, purpose: str) -> Path:
    """Where the lock about a folder lives: outside of it, because that folder is not ours to write into."""
    return root / "locks" / f"{purpose}-{sha256(os.fsencode(subject.resolve())).hexdigest()[:24]}"


@asynccontextmanager
async def held(path: Path, *, patience: float = 60.0) -> AsyncIterator[int]:
    """Hold the lock; gives a file descriptor that children may inherit to hold it too. Raises WorkspaceFailed."""
    deadline = time.monotonic() + patience
    wait = FIRST_WAIT
    with _opened(path) as descriptor:
        while not _taken(descriptor):
            if time.monotonic() > deadline:
                raise WorkspaceFailed(f"Another Whilly process has held {path} for {patience:.0f} s.")
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)
        yield descriptor


@contextmanager
def held_at_once(path: Path) -> Iterator[bool]:
    """Hold the lock if nobody else does; says whether it is held."""
    with _opened(path) as descriptor:
        yield _taken(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
