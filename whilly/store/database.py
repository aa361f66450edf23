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
    "idle_in_transaction_session_timeout": "60s",
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
"""The same for a read: whoever looks can look again, whoever works must not wait."""

RETRIES = 5
"""How often a transaction that lost a race (deadlock, one claim asked twice) is tried again."""


class Database:
    """A pool of connections to one database whose schema fits this program."""

    def __init__(self, pool: Any, url: str, size: int) -> None:
        self._pool = pool
        self._places_for_reads = asyncio.Semaphore(max(size // 2, 1))
        self.url = url

    @classmethod
    async def open(cls, url: str, *, size: int = 10) -> Self:
        """Connect. Raises SchemaMismatch, with the command that mends it, unless the schema is this program's."""
        # `reset`: a pool's reset query doubles Postgres' work per statement, and we leave nothing behind to reset.
        pool = await asyncpg.create_pool(
            url, min_size=1, max_size=size, server_settings=_SESSION, reset=_leave_as_it_is, command_timeout=60
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
        return cls(pool, url, size)

    async def close(self) -> None:
        """Give all connections back."""
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection for reading, or for a conversation of its own such as LISTEN."""
        async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
            yield connection

    async def fetch(self, name: str, *arguments: object) -> list[Any]:
        """The rows that one statement of `store/sql` gives."""
        async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
            return list(await connection.fetch(statement(name), *arguments))

    async def read(self, name: str, *arguments: object) -> list[Any]:
        """The same for what people look at, which may take long: reads get half of the connections at most.

        Raises TimeoutError when all of those stay busy, so that heartbeats and reports find a connection.
        """
        async with asyncio.timeout(READ_ACQUIRE_SECONDS):
            await self._places_for_reads.acquire()
        try:
            return await self.fetch(name, *arguments)
        finally:
            self._places_for_reads.release()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """One unit of work: everything recorded in it is stored together, or nothing is."""
        async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as connection, connection.transaction():
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


async def _leave_as_it_is(_connection: object) -> None:
    """Nothing to reset."""
