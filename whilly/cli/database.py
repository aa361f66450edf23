"""The database of a command: the server that the settings name, or the embedded one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from whilly.cli.log_file import write_log_to
from whilly.core.errors import DatabaseUnavailable
from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.store.database import Database

Result = TypeVar("Result")

ASK_AGAIN_AFTER = 1.0
"""Seconds."""


@asynccontextmanager
async def database_url(settings: Settings) -> AsyncIterator[str]:
    """The address of a server that runs, for as long as this lasts. Raises DatabaseUnavailable."""
    if settings.database_url is not None:
        yield settings.database_url
        return

    from whilly.store.opening import running

    async with running(None, settings.data_dir) as url:
        yield url


@asynccontextmanager
async def open_database(
    settings: Settings, *, size: int = 10, vital: int = 0, patience: float | None = None
) -> AsyncIterator["Database"]:
    """The database, with this program's schema; the numbers are those of `Database.open`.

    The embedded one gets it by itself; another server is its owner's to change, so SchemaMismatch names the command.
    """
    from whilly.store.database import ACQUIRE_SECONDS
    from whilly.store.opening import opened

    if settings.log_dir is not None:
        write_log_to(settings.log_dir)
    waits = ACQUIRE_SECONDS if patience is None else patience
    async with opened(settings.database_url, settings.data_dir, size=size, vital=vital, patience=waits) as database:
        with _still_answering(database.url):
            yield database


@contextmanager
def _still_answering(url: str) -> Iterator[None]:
    """Turns a database that goes away in the middle of a command into DatabaseUnavailable."""
    from whilly.store import schema

    try:
        yield
    except _gone() as problem:
        reason = " ".join(str(problem).split()).rstrip(".")
        raise DatabaseUnavailable(
            f"The database {schema.shown(url)} stopped answering: {reason}; run the command again when it does."
        ) from problem


def _gone() -> tuple[type[Exception], ...]:
    """What a database that goes away raises, without what printing may raise as well (a closed pipe, a full disk)."""
    from whilly.store.database import AWAY

    return (*(each for each in AWAY if each is not OSError), ConnectionRefusedError, ConnectionResetError)


async def patiently(read: Callable[[], Awaitable[Result]]) -> Result:
    """What the read gives, asked again every second while the database does not answer."""
    import asyncio

    # A server that is down has no socket file, and one that hangs does not answer in time.
    gone: tuple[type[Exception], ...] = (*_gone(), FileNotFoundError, TimeoutError)
    while True:
        try:
            return await read()
        except gone:
            await asyncio.sleep(ASK_AGAIN_AFTER)
