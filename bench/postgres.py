"""A PostgreSQL of the bench's own, as safe against power failure as a real one, and gone afterwards."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.processes import postgres_cpu
from whilly.store import embedded, schema
from whilly.store.database import Database

CONNECTIONS = 8


class Postgres:
    """A running server, with as many databases as are wanted."""

    def __init__(self, url: str, data: Path) -> None:
        self.url = url
        self._data = data

    def of(self, name: str) -> str:
        """The URL of one of its databases."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def cpu(self) -> float:
        """Seconds of CPU that the whole server has used."""
        return postgres_cpu(self._data)

    async def create(self, name: str) -> str:
        """Make an empty database; its URL."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(f"create database {name}")
        finally:
            await connection.close()
        return self.of(name)

    @asynccontextmanager
    async def database(self, name: str) -> AsyncIterator[Database]:
        """A new database with this program's schema, connected."""
        url = await self.create(name)
        await schema.upgrade(url)
        opened = await Database.open(url, size=CONNECTIONS)
        try:
            yield opened
        finally:
            await opened.close()

    async def settle(self) -> None:
        """Write out what earlier rounds left to write, so that nobody pays for somebody else's."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("checkpoint")
        finally:
            await connection.close()


@contextmanager
def folder() -> Iterator[Path]:
    """A place for everything that a bench writes."""
    made = Path(tempfile.mkdtemp(prefix="whilly-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def postgres() -> AsyncIterator[Postgres]:
    """Start the server; `synchronous_commit` and `fsync` are on."""
    with folder() as place:
        running = await asyncio.to_thread(embedded.start, place)
        try:
            connection = await asyncpg.connect(running.url)
            data = Path(await connection.fetchval("show data_directory"))
            await connection.close()
            yield Postgres(running.url, data)
        finally:
            await asyncio.to_thread(running.leave)
