"""Heartbeats and reports pass when everything else is slow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import pytest

from tests.access_matrix import grounds
from tests.control_plane import Server, running_server
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status, TaskSpec
from whilly.server.app import ROUTES
from whilly.store import database as database_module
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest, Heartbeat


@pytest.fixture
async def small(database_url: str) -> AsyncIterator[Server]:
    """A control plane with few connections and little patience."""
    opened = await Database.open(database_url, size=4, vital=4, patience=0.1)
    async with running_server(opened) as server:
        yield server
    await opened.close()


async def test_heartbeats_and_reports_pass_behind_two_hundred_slow_reads(small: Server) -> None:
    await small.store("p", TaskSpec("T-1", "One"))
    plane, http = await small.control_plane(), await small.operator()
    held = await plane.claim(ClaimRequest("c", "p", ("scripted",)))
    assert held is not None
    reads = [asyncio.create_task(_slow(small.database)) for _ in range(200)]
    await asyncio.wait(reads, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    for _ in range(20):
        assert (await plane.heartbeat(held.key, Heartbeat("agent"))).lease_seconds > 0
    refused = await http.get("/api/v1/plans")
    assert (refused.status_code, refused.headers["retry-after"], refused.json()["type"]) == (503, "1", "busy")
    assert (await http.get("/health/ready")).status_code == 200
    answer = await plane.finish(held.key, Report(Outcome.COMPLETED, head_commit="c" * 40, files_changed=1))
    assert answer.status is Status.DONE
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)


BODIES = {
    "start": {"agent": "scripted"},
    "heartbeat": {"phase": "agent"},
    "release": {"cause": "shutdown"},
    "finish": {"outcome": "released"},
    "orders": {"session": 1},
}


async def test_what_the_table_calls_vital_passes_when_every_other_connection_is_taken(small: Server) -> None:
    place = await grounds(small)
    answered = {}
    clients = {"worker": await small.worker("worker-a"), "operator": await small.operator(), "nobody": small.nobody()}
    async with AsyncExitStack() as taken:
        for _ in range(4):
            await taken.enter_async_context(small.database.connection())
        for route in ROUTES:
            if not route.vital and (route.method, route.path) != ("GET", "/api/v1/plans"):
                continue
            kinds = {kind.value for kind in route.allowed} if route.allowed else {"nobody"}
            (client, *_) = [http for kind, http in clients.items() if kind in kinds]
            body = BODIES.get(route.path.rpartition("/")[2])
            answer = await client.request(route.method, place.address(route), json=body)
            answered[route.path] = answer.status_code
    assert answered.pop("/api/v1/plans") == 503
    assert set(answered.values()) <= {200, 204, 409}, answered
    assert len(answered) == len([route for route in ROUTES if route.vital])


async def _slow(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("select pg_sleep(30)")


async def test_a_locked_task_does_not_hold_up_the_heartbeats_of_others(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database_module._VITAL_SESSION, "lock_timeout", "200ms")
    opened = await Database.open(database_url, vital=4)
    async with running_server(opened) as server:
        await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
        http = await server.worker()
        for number in (1, 2):
            request = {"claim_id": f"c{number}", "plan": "p", "agents": ["scripted"]}
            assert (await http.post("/api/v1/claim", json=request)).status_code == 200
        async with opened.connection() as locking:
            await locking.execute("begin; update tasks set position = position where id = 'T-1'")
            answers = await asyncio.gather(*(_beat(http, f"T-{number}") for number in (1, 2, 2, 2)))
            await locking.execute("rollback")
        assert [answer.status_code for answer in answers] == [503, 200, 200, 200]
        assert answers[0].headers["retry-after"] == "1"
        assert (await _beat(http, "T-1")).status_code == 200
    await opened.close()


async def _beat(http: httpx2.AsyncClient, task: str) -> httpx2.Response:
    return await http.post(f"/api/v1/plans/p/tasks/{task}/attempts/1/heartbeat", json={"phase": "agent"})
