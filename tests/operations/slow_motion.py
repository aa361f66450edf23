"""Holds a statement where it has its snapshot and no lock yet, so that a race of microseconds can be watched."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from whilly.store import database as store_database
from whilly.store import transaction as store_transaction
from whilly.store.database import Database

GATE = 42
"""The advisory lock at which a statement waits."""

Mutation = Callable[[str, str], str]
"""Name and text of a statement in, its text out."""


def patched(monkeypatch: pytest.MonkeyPatch, change: Mutation) -> None:
    """Let all statements be changed on their way from the file to the database, after earlier changes."""
    earlier: Callable[[str], str] = vars(store_transaction)["statement"]

    def read(name: str) -> str:
        return change(name, earlier(name))

    monkeypatch.setattr(store_database, "statement", read)
    monkeypatch.setattr(store_transaction, "statement", read)


@asynccontextmanager
async def held_at(database: Database, name: str, place: str) -> AsyncIterator[Callable[[], "asyncio.Future[object]"]]:
    """While open, one run of the statement waits before it reads the table after `place`, such as `from tasks t`.

    Start it inside; what is given is to be awaited for the moment when it waits. It goes on when this is closed.
    """
    waits: list[bool] = [True]

    def gated(statement_name: str, text: str) -> str:
        if statement_name != name or not waits:
            return text
        waits.pop()
        assert place in text, f"{name} has no {place!r}"
        table = place.removeprefix("from ")
        return text.replace(place, f"from (select pg_advisory_xact_lock_shared({GATE})) as gate, {table}", 1)

    with pytest.MonkeyPatch.context() as monkeypatch:
        patched(monkeypatch, gated)
        async with database.connection() as gatekeeper, gatekeeper.transaction():
            await gatekeeper.execute(f"select pg_advisory_xact_lock({GATE})")
            yield lambda: asyncio.ensure_future(locks_waited_for(database, 1))


async def locks_waited_for(database: Database, count: int) -> None:
    """Wait until so many statements wait for locks. Each look is a transaction of its own."""
    waits = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(10), database.connection() as looking:
        while len(await looking.fetch(waits)) < count:  # noqa: ASYNC110 - the fact is in the database
            await asyncio.sleep(0.005)
