"""Where the embedded server's files are, and what its two locks mean.

`users.lock` is held shared by every process that uses the server, and exclusively by the guard when it may stop it.
`guard.lock` is held by the guard for as long as it lives; its text describes the server while that accepts connections.
The kernel gives locks back however a process ends, so nobody has to be believed or counted.
"""

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from whilly.core.errors import DatabaseUnavailable

if sys.platform != "win32":
    import fcntl

ROLE = "whilly"
DATABASE = "postgres"
PORT = 5432
"""Only part of the socket's name: nothing listens on TCP."""

LONGEST_SOCKET_PATH = 100
"""Bytes; macOS allows 103, Linux 107."""


@dataclass(frozen=True)
class Served:
    """A server that accepts connections."""

    guard: int
    postmaster: int
    sockets: str

    @property
    def url(self) -> str:
        """Complete, so that no PG* variable of the environment can bend it."""
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(os.fsencode(self.sockets))}&port={PORT}"


@dataclass(frozen=True)
class Layout:
    """The folder of one embedded server."""

    root: Path

    @classmethod
    def within(cls, data_dir: Path) -> "Layout":
        """The server of a Whilly data folder."""
        return cls(data_dir.expanduser().absolute() / "postgres")

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory; exists only when it is complete."""
        return self.root / "data"

    @property
    def log(self) -> Path:
        """What PostgreSQL and the guard have to say."""
        return self.root / "server.log"

    @property
    def users(self) -> Path:
        """One file per process that uses the server, for `whilly db status` only."""
        return self.root / "users"

    @property
    def users_lock(self) -> Path:
        """Held by users (shared) or by the guard that stops the server (exclusive)."""
        return self.root / "users.lock"

    @property
    def guard_lock(self) -> Path:
        """Held by the guard."""
        return self.root / "guard.lock"

    def create(self) -> None:
        """Make the folder."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.users.mkdir(mode=0o700, exist_ok=True)

    def unusable(self, problem: OSError) -> DatabaseUnavailable:
        """The sentence for a folder that cannot be written."""
        return DatabaseUnavailable(
            f"The embedded PostgreSQL cannot use the folder {self.root}: {problem.strerror or problem}; "
            "mend that, point WHILLY_DATA_DIR to another folder, or set WHILLY_DATABASE_URL."
        )

    def served(self) -> Served | None:
        """The server that a living guard vouches for."""
        if not self.guarded():
            return None
        try:
            return Served(**json.loads(self.guard_lock.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def guarded(self) -> bool:
        """Whether a guard is alive."""
        try:
            descriptor = os.open(self.guard_lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not try_lock(descriptor, exclusive=False)
        finally:
            os.close(descriptor)

    def open_lock(self, path: Path) -> int:
        """A descriptor whose lock lasts until it is closed, here and in every forked child."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def socket_folder(self, owner: int) -> Path:
        """A folder for the socket that only its owner can enter, with a path that is short enough for one."""
        folder = self.root / "run"
        name = os.fsencode(folder / f".s.PGSQL.{PORT}")
        if len(name) > LONGEST_SOCKET_PATH or b"," in name:
            known_by = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
            folder = Path(tempfile.gettempdir()) / f"whilly-{owner}-{known_by}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0 and folder.lstat().st_uid == 0:
            os.chown(folder, owner, -1, follow_symlinks=False)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
            raise DatabaseUnavailable(
                f"The embedded PostgreSQL cannot use {folder} for its socket because it belongs to somebody else; "
                "remove it, or point WHILLY_DATA_DIR to a folder with a shorter path."
            )
        folder.chmod(0o700)
        return folder


@contextmanager
def closing_lock(layout: Layout, path: Path) -> Iterator[int]:
    """A descriptor to try locks with, which are given back at the end."""
    descriptor = layout.open_lock(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, *, exclusive: bool) -> bool:
    """Take the lock unless somebody is in the way."""
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int) -> None:
    """Take the lock exclusively, however long that takes."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def describe(descriptor: int, served: Served | None) -> None:
    """Write into a guard's lock file which server it vouches for."""
    os.ftruncate(descriptor, 0)
    if served is not None:
        os.pwrite(descriptor, json.dumps(asdict(served)).encode(), 0)
