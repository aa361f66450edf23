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
from whilly.store.embedded.layout import Layout, Served, closing_lock, try_lock

START = 60.0
"""Seconds until a start is given up: recovery after a crash replays what was not yet in the tables."""

STOP = 30.0
"""Seconds that the last user waits for the end of the server."""

GUARDS = 3
"""How often a guard that was killed while it started the server is replaced."""

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
        if os.getpid() == self._process:
            _leave(self._layout, descriptor)
        else:
            # A forked child gives up its copy; the right stays with its parent.
            os.close(descriptor)


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
    try:
        layout.create()
        deadline = time.monotonic() + START
        descriptor = _join(layout, deadline)
        try:
            return Running(layout, descriptor, _served(layout, deadline, durable=durable))
        except BaseException:
            _leave(layout, descriptor)
            raise
    except OSError as problem:
        raise layout.unusable(problem) from None


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
        _card(layout, descriptor).write_text(repr(psutil.Process().create_time()), encoding="utf-8")
    return descriptor


def _leave(layout: Layout, descriptor: int) -> None:
    _card(layout, descriptor).unlink(missing_ok=True)
    os.close(descriptor)
    _see_off(layout)


def _served(layout: Layout, deadline: float, *, durable: bool) -> Served:
    """The server, once it accepts connections. Guards that die on the way are replaced, up to a point."""
    appointed = 0
    while time.monotonic() < deadline:
        if found := layout.served():
            return found
        if layout.guarded():
            time.sleep(_PAUSE)
            continue
        word, _, rest = _appoint_guard(layout, deadline, durable=durable).partition(" ")
        appointed += 1
        if word == "failed":
            raise DatabaseUnavailable(rest)
        if word not in ("ready", "busy") and (rest or appointed == GUARDS):
            why = rest.splitlines()[-1] if rest else f"its guard ended without a word, perhaps {layout.log} knows why"
            raise DatabaseUnavailable(f"The embedded PostgreSQL in {layout.root} did not start: {why}.")
    raise DatabaseUnavailable(
        f"The embedded PostgreSQL in {layout.root} did not start within {START:.0f} s; {layout.log} says what it does."
    )


def _appoint_guard(layout: Layout, deadline: float, *, durable: bool) -> str:
    """Start a guard, outside our session (a Ctrl-C at this terminal is none of its business), and give its answer."""
    guard = subprocess.Popen(
        [
            sys.executable, "-P", "-X", "utf8", "-m", "whilly.store.embedded.guard",
            str(layout.root), "durable" if durable else "volatile",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", start_new_session=True,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(str(Path(place).absolute()) for place in sys.path)},
    )  # fmt: skip
    with guard:
        return "" if guard.stdout is None else _answer(guard.stdout.fileno(), deadline)


def _answer(descriptor: int, deadline: float) -> str:
    """The line that a guard says. When it breaks down instead, the traceback that it leaves."""
    said = b""
    while not said.startswith((b"ready\n", b"busy\n")):
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        if not (more := os.read(descriptor, 4096)):
            break
        said += more
    return said.decode("utf-8", errors="replace").strip()


def _see_off(layout: Layout) -> None:
    """Wait while the guard stops the server, which it does unless others use it."""
    deadline = time.monotonic() + STOP
    while time.monotonic() < deadline:
        with closing_lock(layout, layout.users_lock) as lock:
            if not layout.guarded():
                if try_lock(lock, exclusive=True):
                    _clear_up(layout)
                return
            if not try_lock(lock, exclusive=True) and try_lock(lock, exclusive=False):
                return
        time.sleep(_PAUSE)


def _clear_up(layout: Layout) -> None:
    """Stop a server whose guard was killed; there are no users now."""
    with closing_lock(layout, layout.guard_lock) as lock:
        if try_lock(lock, exclusive=True):
            from whilly.store.embedded.cluster import end_leftovers

            end_leftovers(layout)


def _users(layout: Layout) -> Iterator[User]:
    """Each process once, however many rights it has. Cards of the dead are thrown away."""
    seen = set()
    for card in sorted(layout.users.glob("*")):
        try:
            process = psutil.Process(int(card.stem))
            alive = repr(process.create_time()) == card.read_text(encoding="utf-8")
            user = User(process.pid, " ".join(process.cmdline()))
        except (psutil.Error, ValueError, OSError):
            alive = False
        if not alive:
            card.unlink(missing_ok=True)
        elif user.pid not in seen:
            seen.add(user.pid)
            yield user


def _card(layout: Layout, descriptor: int) -> Path:
    return layout.users / f"{os.getpid()}.{descriptor}"
