"""An embedded PostgreSQL that all Whilly processes of a user share: there when needed, gone with its last user."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from whilly.core.errors import DatabaseUnavailable, Refused
from whilly.store.embedded.layout import Layout, Served, try_lock

START = 60.0
"""Seconds until a start is given up: recovery after a crash replays what was not yet in the tables."""

STOP = 30.0
"""Seconds that the last user waits for the end of the server."""

_PAUSE = 0.005


@dataclass(frozen=True)
class User:
    """A process that uses the server."""

    pid: int
    command: str


class Running:
    """The right to use the server; it is stopped when nobody has one any more."""

    def __init__(self, layout: Layout, descriptor: int, served: Served) -> None:
        self._layout = layout
        self._descriptor: int | None = descriptor
        self._process = os.getpid()
        self.url = served.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Give up the right, and wait for the end of the server if nobody else has one."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        os.close(descriptor)
        if os.getpid() == self._process:
            _forget(self._layout)
            _see_off(self._layout)


def start(data_dir: Path | None = None, *, durable: bool = True) -> Running:
    """Use the server of a Whilly data folder, by default this user's own; start it when it does not run.

    `durable=False` gives up safety against power failure for speed, if this call is the one that starts it.
    Raises DatabaseUnavailable. Blocks for up to a second, the first time two.
    """
    if os.name != "posix":
        raise DatabaseUnavailable(
            "The embedded PostgreSQL needs Linux or macOS; set WHILLY_DATABASE_URL to a PostgreSQL 15 or newer."
        )
    layout = Layout.within(_folder(data_dir))
    layout.create()
    deadline = time.monotonic() + START
    descriptor = _join(layout, deadline)
    try:
        return Running(layout, descriptor, _served(layout, deadline, durable=durable))
    except BaseException:
        os.close(descriptor)
        _forget(layout)
        raise


def users(data_dir: Path | None = None) -> list[User]:
    """The processes that use the server now."""
    return list(_users(Layout.within(_folder(data_dir))))


def served(data_dir: Path | None = None) -> Served | None:
    """The running server, if it runs; starts nothing."""
    return Layout.within(_folder(data_dir)).served()


def stop(data_dir: Path | None = None, *, force: bool = False) -> bool:
    """Stop the server, and say whether it ran. Raises Refused while others use it, unless forced."""
    layout = Layout.within(_folder(data_dir))
    running = layout.served()
    if running is None:
        return False
    if not force and (those := list(_users(layout))):
        listed = ", ".join(f"{user.pid} ({user.command})" for user in those)
        raise Refused(f"The embedded PostgreSQL is in use by {listed}; end them first, or add --force.")
    with suppress(ProcessLookupError):
        os.kill(running.guard, 15)
    deadline = time.monotonic() + STOP
    while layout.guarded():
        if time.monotonic() > deadline:
            raise DatabaseUnavailable(f"The embedded PostgreSQL did not stop within {STOP:.0f} s; see {layout.log}.")
        time.sleep(_PAUSE)
    return True


def _folder(data_dir: Path | None) -> Path:
    if data_dir is not None:
        return data_dir
    import platformdirs

    return platformdirs.user_data_path("whilly")


def _join(layout: Layout, deadline: float) -> int:
    """Become a user. A guard that is stopping the server is waited for."""
    descriptor = layout.open_lock(layout.users_lock)
    while not try_lock(descriptor, exclusive=False):
        if time.monotonic() > deadline:
            os.close(descriptor)
            raise DatabaseUnavailable(f"The embedded PostgreSQL is still stopping after {START:.0f} s; try again.")
        time.sleep(_PAUSE)
    # Only `whilly db status` reads it, so a full disk may well prevent it.
    with suppress(OSError):
        (layout.users / str(os.getpid())).write_text(repr(psutil.Process().create_time()), encoding="utf-8")
    return descriptor


def _served(layout: Layout, deadline: float, *, durable: bool) -> Served:
    while time.monotonic() < deadline:
        if found := layout.served():
            return found
        if not layout.guarded():
            _appoint_guard(layout, deadline, durable=durable)
        else:
            time.sleep(_PAUSE)
    raise DatabaseUnavailable(
        f"The embedded PostgreSQL in {layout.root} did not start within {START:.0f} s; {layout.log} says what it does."
    )


def _appoint_guard(layout: Layout, deadline: float, *, durable: bool) -> None:
    """Start a guard, outside our session: a Ctrl-C at this terminal is none of its business."""
    guard = subprocess.Popen(
        [
            sys.executable, "-P", "-X", "utf8", "-m", "whilly.store.embedded.guard",
            str(layout.root), "durable" if durable else "volatile",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(str(Path(place).absolute()) for place in sys.path)},
    )  # fmt: skip
    with guard:
        answer = b"" if guard.stdout is None else _line(guard.stdout.fileno(), deadline)
    word, _, rest = answer.decode("utf-8").strip().partition(" ")
    if word == "failed":
        raise DatabaseUnavailable(rest)


def _line(descriptor: int, deadline: float) -> bytes:
    """What is written there until the end of a line, the end of the file or the deadline."""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        if not (more := os.read(descriptor, 4096)):
            break
        line += more
    return line


def _see_off(layout: Layout) -> None:
    """Wait while the guard stops the server, which it does unless others use it."""
    deadline = time.monotonic() + STOP
    descriptor = layout.open_lock(layout.users_lock)
    try:
        while layout.guarded() and time.monotonic() < deadline:
            if not try_lock(descriptor, exclusive=True) and try_lock(descriptor, exclusive=False):
                return
            os.close(descriptor)
            time.sleep(_PAUSE)
            descriptor = layout.open_lock(layout.users_lock)
    finally:
        os.close(descriptor)


def _users(layout: Layout) -> Iterator[User]:
    for entry in sorted(layout.users.glob("*")):
        try:
            process = psutil.Process(int(entry.name))
            if repr(process.create_time()) == entry.read_text(encoding="utf-8"):
                yield User(process.pid, " ".join(process.cmdline()))
                continue
        except (psutil.Error, ValueError, OSError):
            pass
        entry.unlink(missing_ok=True)


def _forget(layout: Layout) -> None:
    (layout.users / str(os.getpid())).unlink(missing_ok=True)
