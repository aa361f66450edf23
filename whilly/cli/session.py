"""What almost every command does: read the settings, open the database, do one thing, close it."""

import getpass
import os
import stat
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from whilly.cli.database import open_database
from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.store.database import Database

Result = TypeVar("Result")


def with_database(work: Callable[["Database"], Awaitable[Result]]) -> Result:
    """Do the work with an open database, and give its result. Raises WhillyError as the work and the opening do."""
    import asyncio

    found: list[Result] = []

    async def session() -> None:
        async with open_database(Settings.from_environment(), size=2) as database:
            found.append(await work(database))
            await _number_events(database)

    # Not as the result of the coroutine: when `asyncio.run` puts the signal handler back, it makes a text of its task
    # and so of the result, which takes 0.2 s for a plan of 10,000 tasks.
    asyncio.run(session())
    return found[0]


async def _number_events(database: "Database") -> None:
    """Give what the command wrote its place in the log: that tells servers, which would look by themselves only once
    in a second. One round: what is more than that they go on with.
    """
    from whilly.operations.sequence_events import sequence_events

    await sequence_events(database)


def who() -> str:
    """The person at this terminal, as the system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return os.environ.get("USERNAME", "somebody")


def no_terminal_after(signal_name: str) -> None:
    """After SIGHUP the terminal is gone, and every write to it fails: let what is said to it go nowhere."""
    if signal_name != "SIGHUP":
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that is gone no longer says that it is one, but it still is no file.
        if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def terminal_width() -> int | None:
    """The columns of the terminal that stdout is; None when it is none."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def wants_colour(*, refused: bool = False) -> bool:
    """Whether stdout is a terminal that shows colours and nobody asked for none (`NO_COLOR`, `TERM=dumb`)."""
    plain = refused or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain
