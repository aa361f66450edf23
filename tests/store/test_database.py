"""Connections are shared so that looking never stops the work."""

import asyncio
import time

import asyncpg
import pytest

from tests.builders import LEASE, a_plan, a_request, a_task, finished, running
from tests.control_plane import eventually
from whilly.core.plan import Status
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.import_plan import import_plan
from whilly.operations.read_events import events_after
from whilly.operations.renew_leases import renew_leases
from whilly.store.database import Database
from whilly.wire.work import Heartbeat, HeartbeatAnswer


async def test_heartbeats_and_reports_pass_by_reads_that_hang(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    attempt = await running(database)
    blocker = await asyncpg.connect(database.url)
    try:
        await blocker.execute("begin; lock table event_log in access exclusive mode")
        reads = [asyncio.create_task(events_after(database, 0, "p", 500)) for _ in range(50)]
        async with database.connection() as connection:
            waiting = "select count(*) from pg_locks where not granted and relation = 'event_log'::regclass"
            await eventually(lambda: connection.fetchval(waiting))

        began = time.monotonic()
        (beat,) = await renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE)
        (claimed,) = await claim_tasks(database, [("w2", a_request())], LEASE)
        answer = await finished(database, attempt.key)
        took = time.monotonic() - began

        assert isinstance(beat, HeartbeatAnswer)
        assert claimed is not None
        assert answer.status is Status.DONE
        assert took < 1
        turned_away, _ = await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
        with pytest.raises(TimeoutError):
            await turned_away.pop()
    finally:
        await blocker.execute("rollback")
        await blocker.close()
    ended = await asyncio.gather(*reads, return_exceptions=True)
    assert sum(isinstance(each, list) for each in ended) == 5
    assert await events_after(database, 0, "p", 1) == []
