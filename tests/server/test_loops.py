"""The loops go on, whatever happens to a round, to a connection, or to another process."""

import asyncio
import logging
import subprocess
import sys
import time
from contextlib import aclosing

import pytest

from tests.builders import a_plan, a_task
from tests.control_plane import Server, eventually, running_server
from whilly.operations.import_plan import import_plan
from whilly.operations.read_events import end_of_log
from whilly.operations.sequence_events import sequence_events
from whilly.server.engine import Timing
from whilly.server.loops.listener import Listener
from whilly.server.loops.repeat import Alarm, repeat
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest


async def test_a_round_that_fails_is_logged_and_the_next_one_happens(caplog: pytest.LogCaptureFixture) -> None:
    rounds: list[int] = []
    pauses: list[float] = []
    enough = asyncio.Event()

    async def work() -> float:
        rounds.append(1)
        if len(rounds) in (1, 2):
            raise RuntimeError("no luck")
        return 7.0

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            enough.set()
        await asyncio.sleep(0)

    with caplog.at_level(logging.INFO):
        loop = asyncio.create_task(repeat("trying", work, pause))
        await enough.wait()
        loop.cancel()
    assert pauses[:3] == [1.0, 2.0, 7.0]
    assert caplog.records[0].message.startswith("trying failed, next try in 1 s: no luck")
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


async def test_a_pause_ends_when_it_rings_also_when_it_rang_before() -> None:
    alarm = Alarm()
    alarm.ring()
    async with asyncio.timeout(1):
        await alarm.pause(60)
        pausing = asyncio.create_task(alarm.pause(60))
        await asyncio.sleep(0)
        alarm.ring()
        await pausing
    await alarm.pause(0.001)


async def test_the_listener_comes_back(server: Server) -> None:
    async def listeners() -> list[int]:
        async with server.database.connection() as connection:
            rows = await connection.fetch(
                "select pid from pg_stat_activity "
                "where application_name = 'whilly listener' and datname = current_database()"
            )
        return [row["pid"] for row in rows]

    await eventually(listeners)
    (first,) = await listeners()
    async with server.database.connection() as connection:
        await connection.execute("select pg_terminate_backend($1)", first)

    async def another() -> bool:
        return any(pid != first for pid in await listeners()) and server.engine.listener.connected

    await eventually(another)
    assert (await (await server.operator()).get("/health/ready")).status_code == 200


async def test_another_process_is_heard_at_once(server: Server) -> None:
    async def connected() -> bool:
        return server.engine.listener.connected

    await eventually(connected)
    plane = await server.control_plane()
    waiting = asyncio.create_task(plane.claim(ClaimRequest("c", "p", ("scripted",), 20)))
    await eventually(lambda: _parked(server, 1))
    other = await Database.open(server.database.url, size=1)
    try:
        began = time.monotonic()
        await import_plan(other, a_plan())
        await sequence_events(other)
        assert await waiting is not None
        assert time.monotonic() - began < 1
    finally:
        await other.close()


async def test_without_a_listener_everything_is_late_by_a_second_at_most(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nowhere(_self: Listener) -> None:
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(Listener, "_connect", nowhere)
    async with running_server(database) as server:
        plane = await server.control_plane()
        waiting = asyncio.create_task(plane.claim(ClaimRequest("c", "p", ("scripted",), 20)))
        await eventually(lambda: _parked(server, 1))
        other = await Database.open(database.url, size=1)
        try:
            async with aclosing(server.engine.live.stream("p", None)) as pieces:
                await anext(pieces)
                coming = asyncio.ensure_future(anext(pieces))
                await eventually(lambda: _watched(server, 1))
                began = time.monotonic()
                await import_plan(other, a_plan(a_task()))
                await sequence_events(other)
                assert b"task.created" in await coming
                assert await waiting is not None
                assert time.monotonic() - began < 2.5
        finally:
            await other.close()
        assert (await (await server.operator()).get("/health/ready")).status_code == 503


async def test_a_worker_that_falls_silent_loses_its_task(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whilly.server.engine.SWEEP_EVERY", 0.05)
    monkeypatch.setattr("whilly.core.verdict.back_off", lambda _: 0)
    async with running_server(database, Timing(lease=0.3)) as server:
        await server.store("p", a_task())
        plane = await server.control_plane()
        first = await plane.claim(ClaimRequest("c-1", "p", ("scripted",)))
        second = await plane.claim(ClaimRequest("c-2", "p", ("scripted",), 10))
        assert first is not None
        assert second is not None
        assert second.epoch == first.epoch + 1


async def test_catching_up_leaves_nothing_without_a_place(server: Server) -> None:
    await import_plan(server.database, a_plan(*(a_task(f"T{n}") for n in range(20))))
    await server.engine.sequencer.catch_up()
    assert await end_of_log(server.database) == 21


def test_a_run_imports_neither_fastapi_nor_the_page() -> None:
    program = "import sys, whilly.server.inprocess\nprint(*sorted({'fastapi', 'uvicorn', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == ""


async def _parked(server: Server, count: int) -> bool:
    return len(server.engine.wakeups) == count


async def _watched(server: Server, count: int) -> bool:
    return len(server.engine.live) == count
