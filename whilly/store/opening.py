"""From what the settings say to a database that can be used: another server's, or the embedded one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from whilly.core.errors import SchemaMismatch
from whilly.store import schema
from whilly.store.database import ACQUIRE_SECONDS, Database


@asynccontextmanager
async def running(url: str | None, data_dir: Path) -> AsyncIterator[str]:
    """The address of a server that runs, for as long as this lasts; without a `url` the embedded one's.

    Raises DatabaseUnavailable.
    """
    if url is not None:
        yield url
        return

    from whilly.store import embedded

    # Outside the event loop, which has others to serve for the second that this takes.
    server = await asyncio.to_thread(embedded.start, data_dir)
    try:
        yield server.url
    finally:
        await asyncio.to_thread(server.leave)


@asynccontextmanager
async def opened(
    url: str | None, data_dir: Path, *, size: int = 10, vital: int = 0, patience: float = ACQUIRE_SECONDS
) -> AsyncIterator[Database]:
    """The database, with this program's schema; the numbers are those of `Database.open`.

    The embedded one gets the schema by itself; another server is its owner's to change, so SchemaMismatch names the
    command.
    """
    async with running(url, data_dir) as address:
        try:
            database = await _opened(address, size, vital, patience)
        except SchemaMismatch:
            if url is not None:
                raise
            await schema.upgrade(address)
            database = await Database.open(address, size=size, vital=vital, patience=patience)
        try:
            yield database
        finally:
            await database.close()


async def _opened(url: str, size: int, vital: int, patience: float) -> Database:
    with schema.answering(url):
        database = await Database.open(url, size=size, vital=vital, patience=patience)
    try:
        async with database.connection() as connection:
            schema.check_server(connection, url)
    except BaseException:
        await database.close()
        raise
    return database
