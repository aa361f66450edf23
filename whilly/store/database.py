"""Connections to Postgres, and the one way to change something: a transaction."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import asyncpg

from whilly.core.errors import SchemaMismatch
from whilly.store import schema
from whilly.store.statements import statement
from whilly.store.transaction import LostRace, Transaction

log = logging.getLogger(__name__)

# It tells of each connection that it cannot replace at once, with a traceback; our own loops say so in a line.
logging.getLogger("asyncpg.pool").setLevel(logging.CRITICAL)

Result = TypeVar("Result")

_SESSION = {
    "application_name": "whilly",
    # Statements with arrays are planned anew at every call otherwise, which costs more than running them.
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    # A generic plan made while a table was small would scan it for ever; ours reach their rows by an
    # index, in the order in which the statement names the tables.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "join_collapse_limit": "1",
    # A program that died on another machine in the middle of a transaction keeps its locks for so long at most.
    "idle_in_transaction_session_timeout": "20s",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}

_VITAL_SESSION = {
    # Requests share a statement: rather fail, and let each go by itself, than wait for one row that is locked.
    "lock_timeout": "3s",
}

AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""What is raised when the database cannot do anything just now, whatever was asked: it is stopped, it starts, its disk
or its connections are used up, the network is cut. Timeouts are OSErrors; an internal error of the client is what the
first to use a connection gets that the server has ended meanwhile."""

ACQUIRE_SECONDS = 10.0
"""How long to wait for a connection."""

READ_ACQUIRE_SECONDS = 2.0
"""The most for a read: whoever looks can look again, whoever works must not wait."""

COMMAND_SECONDS = 60.0
VITAL_COMMAND_SECONDS = 10.0
"""How long a statement may take; a lease has to be renewed long before it ends."""

CLOSE_SECONDS = 1.5
"""How long connections that are in use may go on when the database is closed."""

RETRIES = 5
"""How often a transaction that lost a race (deadlock, one claim asked twice) is tried again."""


class Busy(TimeoutError):
    """All connections stayed in use for as long as it is worth waiting: ask again. Nothing was done."""


class Database:
    """A pool of connections to one database whose schema fits this program."""

    def __init__(self, pool: Any, url: str, size: int, patience: float, vital: "Database | None" = None) -> None:
        self._pool = pool
        self._patience = patience
        self._places_for_reads = asyncio.Semaphore(max(size // 2, 1))
        self._vital = vital
        self.url = url

    @classmethod
    async def open(cls, url: str, *, size: int = 10, vital: int = 0, patience: float = ACQUIRE_SECONDS) -> Self:
        """Connect. Raises SchemaMismatch, with the command that mends it, unless the schema is this program's.

        `vital`: how many connections are kept apart, for what must go on while all others are in use. `patience`: how
        long the others are waited for, in seconds, until Busy is raised.
        """
        # `reset`: a pool's reset query doubles Postgres' work per statement, and we leave nothing behind to reset.
        pool = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=size,
            server_settings=_SESSION,
            reset=_leave_as_it_is,
            command_timeout=COMMAND_SECONDS,
        )
        try:
            async with pool.acquire() as connection:
                found, wanted = await schema.version_of(connection), schema.head()
        except BaseException:
            pool.terminate()
            raise
        if found != wanted:
            await pool.close()
            raise SchemaMismatch(
                f"The database has schema {found or 'none'}, this program needs {wanted}; run `whilly db upgrade`."
            )
        return cls(pool, url, size, patience, await cls._apart(url, vital) if vital else None)

    @classmethod
    async def _apart(cls, url: str, size: int) -> Self:
        """Connections that are made when they are first needed."""
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=size,
            server_settings={**_SESSION, **_VITAL_SESSION},
            reset=_leave_as_it_is,
            command_timeout=VITAL_COMMAND_SECONDS,
        )
        return cls(pool, url, size, ACQUIRE_SECONDS)

    @property
    def vital(self) -> "Database":
        """The same database by the connections that are kept apart, if there are any."""
        return self._vital or self

    async def close(self) -> None:
        """Give all connections back; those that are still in use after CLOSE_SECONDS are cut."""
        pools = [self._pool] if self._vital is None else [self._pool, self._vital._pool]
        await asyncio.gather(*map(_close, pools))

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection for reading, or for a conversation of its own such as LISTEN. Raises Busy."""
        connection = await self._take()
        try:
            yield connection
        finally:
            await self._pool.release(connection)

    async def fetch(self, name: str, *arguments: object) -> list[Any]:
        """The rows that one statement of `store/sql` gives. Raises Busy."""
        connection = await self._take()
        try:
            return list(await connection.fetch(statement(name), *arguments))
        finally:
            await self._pool.release(connection)

    async def read(self, name: str, *arguments: object) -> list[Any]:
        """The same for what people look at, which may take long: reads get half of the connections at most.

        Raises Busy when all of those stay busy, so that heartbeats and reports find a connection.
        """
        try:
            async with asyncio.timeout(min(READ_ACQUIRE_SECONDS, self._patience)):
                await self._places_for_reads.acquire()
        except TimeoutError:
            raise Busy("too many are reading from the database") from None
        try:
            return await self.fetch(name, *arguments)
        finally:
            self._places_for_reads.release()

    async def _take(self) -> Any:
        try:
            return await self._pool.acquire(timeout=self._patience)
        except TimeoutError:
            raise Busy("all connections to the database are in use") from None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """One unit of work: everything recorded in it is stored together, or nothing is."""
        async with self.connection() as connection, connection.transaction():
            transaction = Transaction(connection)
            yield transaction
            await transaction.flush()

    async def transact(self, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
        """Do the work in a transaction, again when it lost a race."""
        for remaining in reversed(range(RETRIES)):
            try:
                async with self.transaction() as transaction:
                    return await work(transaction)
            except (
                asyncpg.DeadlockDetectedError,
                asyncpg.SerializationError,
                asyncpg.UniqueViolationError,
                LostRace,
            ) as lost_race:
                if not remaining:
                    raise
                log.info("a transaction lost a race and is tried again: %s", lost_race)
        raise AssertionError("unreachable")


async def _close(pool: Any) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await pool.close()
    except TimeoutError:
        pool.terminate()


async def _leave_as_it_is(_connection: object) -> None:
    """Nothing to reset."""
