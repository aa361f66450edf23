"""Which schema a database has, and how it gets another one: one migration at a time, one migrator at a time."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import asyncpg

from whilly.core.errors import DatabaseUnavailable, MigrationFailed, SchemaMismatch

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy.ext.asyncio import AsyncConnection

MIGRATOR = 0x7768696C6C79
"""The advisory lock of whoever migrates; the letters of `whilly`."""

OLDEST_POSTGRES = 15

LOCK_TIMEOUT_MS = 1_000
"""How long one try of a migration may wait for a table, and with it everybody who queues up behind the migration."""

TRIES = 30
"""How often a migration asks for its tables before it gives up."""

_PAUSE = 0.2


_OTHER_SESSIONS = """
select pid, application_name from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
order by xact_start nulls last limit 3
"""


def revisions() -> list[str]:
    """All revisions that this program knows, oldest first: each file is named `<revision>_<what it does>.py`."""
    folder = files("whilly.store") / "migrations" / "versions"
    return sorted(entry.name.partition("_")[0] for entry in folder.iterdir() if entry.name[:1].isdigit())


def head() -> str:
    """The schema that this program needs."""
    return revisions()[-1]


async def version_of(connection: Any) -> str | None:
    """The schema of a connected database; None for one without tables of ours."""
    if not await connection.fetchval("select to_regclass('alembic_version') is not null"):
        return None
    version: str | None = await connection.fetchval("select version_num from alembic_version")
    return version


async def current(url: str) -> str | None:
    """The schema of a database; None for one without tables of ours. Raises DatabaseUnavailable."""
    connection = await connect(url)
    try:
        return await version_of(connection)
    finally:
        await connection.close()


async def upgrade(url: str) -> list[str]:
    """Migrate to this program's schema and give the revisions that were applied.

    Raises SchemaMismatch for a database made by a newer program, MigrationFailed, DatabaseUnavailable.
    """
    async with _sole_migrator(url) as migration:
        found = await migration.version()
        known = revisions()
        if found is not None and found not in known:
            raise SchemaMismatch(
                f"The database has schema {found}, this older program knows {known[-1]}; install a newer Whilly."
            )
        pending = known[known.index(found) + 1 :] if found else known
        for revision in pending:
            await migration.step("upgrade", revision)
        return pending


async def downgrade(url: str, revision: str) -> list[str]:
    """Migrate back to an older revision, or to `base`, and give the revisions that were undone, newest first."""
    async with _sole_migrator(url) as migration:
        found = await migration.version()
        known = ["base", *revisions()]
        if revision not in known or (found or "base") not in known:
            raise MigrationFailed(
                f"There is no way back from schema {found} to {revision}; known are {', '.join(known)}."
            )
        undone = known[known.index(revision) + 1 : known.index(found or "base") + 1][::-1]
        for step in undone:
            await migration.step("downgrade", known[known.index(step) - 1])
        return undone


class _Migration:
    """Alembic on a connection that holds the migrator's lock."""

    def __init__(self, connection: "AsyncConnection", config: "Config") -> None:
        self._connection = connection
        self._config = config

    async def version(self) -> str | None:
        return await version_of((await self._connection.get_raw_connection()).driver_connection)

    async def wait_for_turn(self) -> None:
        """Ask again and again: a statement that waits would hold a snapshot against the migration at work."""
        driver: Any = (await self._connection.get_raw_connection()).driver_connection
        while True:
            if await driver.fetchval("select pg_try_advisory_lock($1)", MIGRATOR):
                return
            await asyncio.sleep(_PAUSE)

    async def step(self, direction: str, revision: str) -> None:
        """One migration in one transaction, tried again while others hold its tables."""
        for tried in range(1, TRIES + 1):
            try:
                await self._connection.run_sync(self._run, direction, revision)
            except Exception as problem:
                cause = _postgres_error(problem)
                if not isinstance(cause, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError):
                    raise await self._failure(direction, revision, str(cause or problem), cause) from problem
                if tried == TRIES:
                    reason = f"others kept its tables through {TRIES} tries, stop {await self._others()} and try again"
                    raise await self._failure(direction, revision, reason, cause) from problem
                await asyncio.sleep(_PAUSE * 5)
            else:
                return

    def _run(self, connection: Any, direction: str, revision: str) -> None:
        from alembic import command

        self._config.attributes["connection"] = connection
        getattr(command, direction)(self._config, revision)

    async def _others(self) -> str:
        driver: Any = (await self._connection.get_raw_connection()).driver_connection
        sessions = await driver.fetch(_OTHER_SESSIONS)
        return ", ".join(f"{pid} ({name or 'without a name'})" for pid, name in sessions) or "them"

    async def _failure(self, direction: str, revision: str, reason: str, cause: Exception | None) -> MigrationFailed:
        detail = getattr(cause, "detail", None)
        return MigrationFailed(
            f"The {direction} to schema {revision} failed and was rolled back, the database still has "
            f"{await self.version() or 'none'}: {reason.rstrip('.')}{f' ({detail})' if detail else ''}."
        )


@asynccontextmanager
async def _sole_migrator(url: str) -> AsyncIterator[_Migration]:
    """A connection that holds the lock. Whoever comes second waits, and then finds the work done."""
    from alembic.config import Config
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    config = Config()
    config.set_main_option("script_location", "whilly.store:migrations")
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: connect(url), poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            migration = _Migration(connection, config)
            await migration.wait_for_turn()
            yield migration
    finally:
        await engine.dispose()


async def connect(url: str) -> Any:
    """A connection outside any pool. Raises DatabaseUnavailable, also for a server that is too old."""
    with answering(url):
        connection = await asyncpg.connect(url, server_settings={"application_name": "whilly db"}, timeout=30)
    try:
        check_server(connection, url)
    except BaseException:
        await connection.close()
        raise
    return connection


def check_server(connection: Any, url: str) -> None:
    """Raises DatabaseUnavailable unless the server is one that the statements of `store/sql` can run on."""
    version = connection.get_server_version()
    if version.major < OLDEST_POSTGRES:
        raise DatabaseUnavailable(
            f"The database {shown(url)} is PostgreSQL {version.major}, Whilly needs {OLDEST_POSTGRES} or newer."
        )


@contextmanager
def answering(url: str) -> Iterator[None]:
    """Turns what goes wrong while connecting into DatabaseUnavailable, without the password."""
    try:
        yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as problem:
        reason = " ".join(str(problem).split()).rstrip(".") or type(problem).__name__
        raise DatabaseUnavailable(
            f"The database {shown(url)} does not answer: {reason}; check that it runs and that its address is right."
        ) from problem


def shown(url: str) -> str:
    """The address of a database for people: without password and options, except where its socket is."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    host = parts.netloc.rpartition("@")[2] or options.get("host", "")
    user = f"{parts.username}@" if parts.username else ""
    return f"{user}{host}{':' if host.startswith('/') else ''}{parts.path}"


def _postgres_error(problem: BaseException | None) -> asyncpg.PostgresError | None:
    """The error of the server beneath the layers of the libraries."""
    while problem is not None and not isinstance(problem, asyncpg.PostgresError):
        problem = problem.__cause__
    return problem
