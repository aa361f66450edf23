"""A real PostgreSQL for the tests: one server per run, one fresh database per test."""

import asyncio
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from whilly.store import embedded, schema
from whilly.store.database import Database

for _number in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)):
    # Under `nohup`, or as a background job, the tests are started with these ignored, and every program that they
    # start would inherit that; asking it to stop is what many of them do.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler)

TEMPLATE = "whilly_template"
Result = TypeVar("Result")


class Postgres:
    """The server of this run, and one connection to it that makes and drops databases."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection: Any = self._wait(asyncpg.connect(url))
        self._made = 0

    def of(self, name: str) -> str:
        """The URL of another database of this server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def create(self, template: str = TEMPLATE) -> str:
        """A new database: a copy of the template, which has this program's schema. Gives its name."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        self._wait(self._connection.execute(f"create database {name} template {template}"))
        return name

    def drop(self, name: str) -> None:
        self._wait(self._connection.execute(f"drop database {name} with (force)"))

    def migrate_template(self) -> None:
        """Once per run: whoever comes second waits for the first."""
        self._wait(self._migrate_template())

    def close(self) -> None:
        self._wait(self._connection.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _migrate_template(self) -> None:
        await self._connection.execute("select pg_advisory_lock(1)")
        try:
            if not await self._connection.fetchval("select 1 from pg_database where datname = $1", TEMPLATE):
                await self._connection.execute("create database template_in_work template template0")
                await schema.upgrade(self.of("template_in_work"))
                await self._connection.execute(f"alter database template_in_work rename to {TEMPLATE}")
        finally:
            await self._connection.execute("select pg_advisory_unlock(1)")

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        future: Future[Result] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(timeout=60)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all workers of pytest-xdist, gone with the last of them; WHILLY_TEST_DATABASE_URL names another.

    Not in pytest's own folder: each run of pytest takes other accounts' access to that away, and root's server has one.
    """
    if given := os.environ.get("WHILLY_TEST_DATABASE_URL"):
        server = Postgres(given)
        server.migrate_template()
        yield server
        server.close()
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = Path(tempfile.gettempdir()) / f"whilly-test-{run}"
    with embedded.start(folder, durable=False) as running:
        server = Postgres(running.url)
        server.migrate_template()
        yield server
        server.close()
    if not embedded.users(folder):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(postgres: Postgres) -> Iterator[str]:
    """A fresh database with this program's schema."""
    name = postgres.create()
    yield postgres.of(name)
    postgres.drop(name)


@pytest.fixture
def empty_database_url(postgres: Postgres) -> Iterator[str]:
    """A fresh database without anything in it."""
    name = postgres.create("template0")
    yield postgres.of(name)
    postgres.drop(name)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A fresh database, connected."""
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


@pytest.fixture(autouse=True, scope="session")
def nobody_elses_data() -> Iterator[None]:
    """No test touches the data, the database or the settings of whoever runs it."""
    data_dir = tempfile.TemporaryDirectory(prefix="whilly-test-", ignore_cleanup_errors=True)
    with data_dir, pytest.MonkeyPatch.context() as environment:
        for name in list(os.environ):
            if name.startswith(("WHILLY_", "PG")) and not name.startswith("WHILLY_TEST_"):
                environment.delenv(name)
        environment.setenv("WHILLY_DATA_DIR", data_dir.name)
        yield
