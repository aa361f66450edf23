"""The database of a command: the server that the settings name, or the embedded one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from whilly.cli.log_file import write_log_to
from whilly.core.errors import SchemaMismatch
from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.store.database import Database


@asynccontextmanager
async def database_url(settings: Settings) -> AsyncIterator[str]:
    """The address of a server that runs, for as long as this lasts. Raises DatabaseUnavailable."""
    if settings.database_url is not None:
        yield settings.database_url
        return

    import asyncio

    from whilly.store import embedded

    # Outside the event loop, which has others to serve for the second that this takes.
    running = await asyncio.to_thread(embedded.start, settings.data_dir)
    try:
        yield running.url
    finally:
        await asyncio.to_thread(running.leave)


@asynccontextmanager
async def open_database(settings: Settings, *, size: int = 10) -> AsyncIterator["Database"]:
    """The database, with this program's schema.

    The embedded one gets it by itself; another server is its owner's to change, so SchemaMismatch names the command.
    """
    from whilly.store import schema
    from whilly.store.database import Database

    if settings.log_dir is not None:
        write_log_to(settings.log_dir)
    async with database_url(settings) as url:
        try:
            database = await _opened(url, size)
        except SchemaMismatch:
            if settings.database_url is not None:
                raise
            await schema.upgrade(url)
            database = await Database.open(url, size=size)
        try:
            yield database
        finally:
            await database.close()


async def _opened(url: str, size: int) -> "Database":
    from whilly.store import schema
    from whilly.store.database import Database

    with schema.answering(url):
        database = await Database.open(url, size=size)
    try:
        async with database.connection() as connection:
            schema.check_server(connection, url)
    except BaseException:
        await database.close()
        raise
    return database
