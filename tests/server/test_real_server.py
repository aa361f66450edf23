"""Over a real socket: streams, clients that vanish, and an end that comes soon."""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.control_plane import Server, eventually
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.core.errors import BadSetting
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status, TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.read_plans import list_plans
from whilly.operations.revoke_token import revoke_token
from whilly.server import streams
from whilly.server.serve import serving
from whilly.wire.work import ClaimRequest


@pytest.fixture
async def address(server: Server) -> AsyncIterator[str]:
    async with serving(server.app) as url:
        yield url


async def bearer(server: Server, kind: TokenKind = TokenKind.OPERATOR) -> str:
    return (await issue_token(server.database, kind, worker="w-1" if kind is TokenKind.WORKER else None)).bearer


async def test_events_reach_a_client_while_they_happen(server: Server, address: str) -> None:
    async with (
        over_network(address, await bearer(server)) as http,
        http.stream("GET", "/events/stream", headers={"Last-Event-ID": "0"}) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        await server.store("p", TaskSpec("T-1", "One"))
        async with asyncio.timeout(5):
            seen = [line async for line in _until(lines, "event: plan.created")]
    assert "id: 1" in seen

    async def nobody_watches() -> bool:
        return len(server.engine.live) == 0

    await eventually(nobody_watches)


async def test_a_poll_whose_client_has_gone_takes_no_task(server: Server, address: str) -> None:
    token = await bearer(server, TokenKind.WORKER)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    body = b'{"claim_id": "c-1", "plan": "p", "agents": ["scripted"], "wait_seconds": 30}'
    head = f"POST /api/v1/claim HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await eventually(lambda: _parked(server, 1))
    writer.transport.abort()
    await eventually(lambda: _parked(server, 0))
    await server.store("p", TaskSpec("T-1", "One"))
    assert (await list_plans(server.database))[0].counts == {Status.PENDING: 1}
    del reader


async def test_a_task_that_becomes_ready_is_handed_over_at_once(server: Server, address: str) -> None:
    """Median of the time from the commit that frees a task to the answer that a waiting worker gets."""
    specs = [TaskSpec("T-0", "x")] + [TaskSpec(f"T-{n}", "x", dependencies=(f"T-{n - 1}",)) for n in range(1, 16)]
    await server.store("p", *specs)
    async with over_network(address, await bearer(server, TokenKind.WORKER)) as http:
        plane = ControlPlane(http)
        held = await plane.claim(ClaimRequest("c-0", "p", ("scripted",)))
        took = []
        for number in range(1, 16):
            waits = asyncio.create_task(plane.claim(ClaimRequest(f"c-{number}", "p", ("scripted",), 20)))
            await eventually(lambda: _parked(server, 1))
            assert held is not None
            report = Report(Outcome.COMPLETED, head_commit="c" * 40, files_changed=1)
            await plane.finish(held.key, report)
            began = time.perf_counter()
            held = await waits
            took.append(time.perf_counter() - began)
    assert statistics.median(took) < 0.1


async def test_answers_are_not_held_back(server: Server, address: str) -> None:
    """With Nagle's algorithm on, each answer on a connection that is kept takes 40 ms."""
    took = []
    async with over_network(address, "") as http:
        for _ in range(20):
            began = time.perf_counter()
            await http.get("/health/live")
            took.append(time.perf_counter() - began)
    assert min(took[1:]) < 0.03


async def test_too_many_streams_of_one_token_are_refused(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PER_TOKEN", 2)
    async with over_network(address, await bearer(server)) as http, contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            answer = await stack.enter_async_context(http.stream("GET", "/events/stream"))
            assert answer.status_code == 200
        refused = await http.get("/events/stream")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


async def test_a_stream_ends_with_its_token(server: Server, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHECK_TOKEN_EVERY", 0.05)
    issued = await issue_token(server.database, TokenKind.OPERATOR)
    async with over_network(address, issued.bearer) as http:
        streaming = asyncio.create_task(_drain(http))
        await eventually(lambda: _watched(server, 1))
        await revoke_token(server.database, issued.id)
        async with asyncio.timeout(5):
            await streaming


async def test_asking_for_the_head_of_a_stream_ends(server: Server, address: str) -> None:
    async with over_network(address, await bearer(server)) as http, asyncio.timeout(5):
        assert (await http.head("/events/stream")).status_code == 200


async def test_a_client_that_does_not_read_is_let_go(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SEND_SECONDS", 0.2)
    token = await bearer(server)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]), limit=1_000)
    writer.write(f"GET /events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    await eventually(lambda: _watched(server, 1))

    async def drowned() -> bool:
        async with server.database.transaction() as tx:
            for _ in range(40):
                tx.tell("p", None, "agent.note", {"text": "x" * 50_000})
        server.engine.wrote()
        return len(server.engine.live) == 0

    await eventually(drowned, 30)
    writer.transport.abort()
    del reader


async def test_the_end_waits_for_nobody_who_only_waits(server: Server) -> None:
    token = await bearer(server)
    worker = await bearer(server, TokenKind.WORKER)
    async with serving(server.app) as address:
        http, claimer = over_network(address, token), over_network(address, worker)
        stream = asyncio.create_task(_drain(http))
        claim = {"claim_id": "c", "plan": "p", "agents": ["scripted"], "wait_seconds": 30}
        poll = asyncio.create_task(claimer.post("/api/v1/claim", json=claim))
        await eventually(lambda: _watched(server, 1))
        await eventually(lambda: _parked(server, 1))
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert (await poll).status_code == 204
    await stream
    await http.aclose()
    await claimer.aclose()


async def test_a_port_that_is_taken_is_said(server: Server, address: str) -> None:
    port = int(address.rpartition(":")[2])
    with pytest.raises(BadSetting, match=f"Port {port} of 127.0.0.1 cannot be used"):
        async with serving(server.app, port=port):
            pass


async def _drain(http: httpx2.AsyncClient) -> None:
    async with http.stream("GET", "/events/stream") as answer:
        async for _ in answer.aiter_lines():
            pass


async def _until(lines: AsyncIterator[str], last: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line == last:
            return


async def _parked(server: Server, count: int) -> bool:
    return len(server.engine.wakeups) == count


async def _watched(server: Server, count: int) -> bool:
    return len(server.engine.live) == count
