"""Two pools: what must go on finds a connection while all others are in use."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from whilly.store.database import Busy, Database


async def test_what_is_vital_has_connections_of_its_own(database_url: str) -> None:
    database = await Database.open(database_url, size=2, vital=1, patience=0.05)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(database.connection())
        with pytest.raises(Busy):
            await database.fetch("end_of_log")
        with pytest.raises(Busy):
            async with database.transaction():
                pass
        assert await database.vital.fetch("end_of_log")
    assert await database.fetch("end_of_log")
    await database.close()


async def test_without_a_second_pool_there_is_one_for_all(database: Database) -> None:
    assert database.vital is database


async def test_reads_leave_connections_to_others(database_url: str) -> None:
    database = await Database.open(database_url, size=4, patience=0.05)
    async with database.connection() as connection:
        await connection.execute("begin; lock table plans in access exclusive mode")
        stuck = [asyncio.create_task(database.read("list_plans", None)) for _ in range(10)]
        done, _ = await asyncio.wait(stuck, timeout=10, return_when=asyncio.FIRST_EXCEPTION)
        assert all(isinstance(each.exception(), Busy) for each in done)
        assert await database.fetch("end_of_log")
        await connection.execute("rollback")
    answers = await asyncio.gather(*stuck, return_exceptions=True)
    assert [isinstance(each, Busy) for each in answers].count(False) == 2
    await database.close()


async def test_closing_does_not_wait_for_those_who_do_not_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whilly.store.database.CLOSE_SECONDS", 0.05)
    database = await Database.open(database_url, size=2)

    async def linger() -> None:
        async with database.connection() as connection:
            held.set()
            await connection.execute("select pg_sleep(60)")

    held = asyncio.Event()
    lingering = asyncio.create_task(linger())
    await held.wait()
    async with asyncio.timeout(10):
        await database.close()
        with pytest.raises(Exception, match="clos"):
            await lingering
