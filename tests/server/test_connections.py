"""Connections that want too much: of time, of memory, of places. All facts; the seconds are made short."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator

import psutil
import pytest

from tests.control_plane import Server, eventually
from whilly.client.connect import over_network
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.server.limits import Crowd, Limits, networks, source_of, that_fit
from whilly.server.serve import serving
from whilly.wire.work import ClaimRequest

HASTY = Limits(receipt=0.3, stuck=0.3, idle=0.3)
HEAD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"


class Client:
    """A client that may be slow, rude or away."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *pieces: bytes) -> None:
        self.writer.write(b"".join(pieces))

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(20):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
            return int(head[0].split()[1]), headers, body

    async def ended(self) -> bool:
        async with asyncio.timeout(20):
            try:
                return not await self.reader.read()
            except ConnectionError:
                return True


@contextlib.asynccontextmanager
async def client(address: str, source: str = "127.0.0.1") -> AsyncIterator[Client]:
    port = int(address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def bearer(server: Server, kind: TokenKind = TokenKind.OPERATOR) -> bytes:
    worker = "w-1" if kind is TokenKind.WORKER else None
    return b"Authorization: Bearer " + (await issue_token(server.database, kind, worker=worker)).bearer.encode()


async def test_a_head_that_drips_is_not_waited_for(server: Server) -> None:
    async with serving(server.app, limits=HASTY) as address, client(address) as slow:
        dripping = asyncio.create_task(drip(slow))
        status, _, body = await slow.answer()
        assert (status, json.loads(body)["type"]) == (408, "too_slow")
        assert await slow.ended()
        await dripping


async def drip(slow: Client) -> None:
    slow.send(HEAD)
    with contextlib.suppress(ConnectionError):
        while not slow.writer.transport.is_closing():
            slow.send(b"X-Drip: 1\r\n")
            await asyncio.sleep(0.01)


async def test_a_client_that_sends_nothing_is_sent_away(server: Server) -> None:
    async with serving(server.app, limits=HASTY) as address, client(address) as silent:
        assert (await silent.answer())[0] == 408
        assert await silent.ended()


async def test_a_connection_that_is_kept_ends_after_a_rest(server: Server) -> None:
    async with serving(server.app, limits=HASTY) as address, client(address) as quiet:
        for _ in range(2):
            quiet.send(HEAD, b"\r\n")
            assert (await quiet.answer())[0] == 200
        assert await quiet.ended()


async def test_empty_lines_do_not_keep_a_connection(server: Server) -> None:
    async with serving(server.app, limits=HASTY) as address, client(address) as slow:
        slow.send(HEAD, b"\r\n")
        assert (await slow.answer())[0] == 200
        slow.send(b"\r\n")
        assert (await slow.answer())[0] == 408
        assert await slow.ended()


@pytest.mark.parametrize("known", [True, False])
async def test_a_body_that_drips_is_not_waited_for(server: Server, known: bool) -> None:
    """Whether it is read, or was refused before it was there."""
    async with serving(server.app, limits=HASTY) as address, client(address) as slow:
        slow.send(b"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        if known:
            slow.send(await bearer(server), b"\r\n")
        slow.send(b"Content-Length: 100\r\n\r\n{")
        assert (await slow.answer())[0] == (408 if known else 401)
        assert await slow.ended()


@pytest.mark.parametrize("piece", [b"X-Long: " + b"x" * 1000 + b"\r\n", b"x" * 1000])
async def test_a_head_has_a_size(server: Server, piece: bytes) -> None:
    async with serving(server.app) as address, client(address) as large:
        large.send(HEAD, *[piece] * 100)
        status, _, body = await large.answer()
        assert (status, json.loads(body)["type"]) == (431, "head_too_large")


async def test_garbage_gets_the_same_kind_of_answer(server: Server) -> None:
    async with serving(server.app) as address, client(address) as confused:
        confused.send(b"\x16\x03\x01 hello\r\n\r\n")
        status, headers, body = await confused.answer()
        assert (status, headers["content-type"]) == (400, "application/problem+json")
        assert json.loads(body)["type"] == "malformed"


async def test_a_chunked_body_in_small_pieces_is_taken(server: Server) -> None:
    body = json.dumps({"reason": "x" * 500}).encode()
    async with serving(server.app) as address, client(address) as fussy:
        fussy.send(b"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        fussy.send(await bearer(server), b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in body:
            fussy.send(b"1\r\n%c\r\n" % byte)
        fussy.send(b"0\r\n\r\n")
        assert (await fussy.answer())[0] == 204


async def test_a_body_of_300_mb_is_refused_and_costs_no_memory(server: Server) -> None:
    process = psutil.Process(os.getpid())
    async with serving(server.app) as address, client(address) as huge:
        huge.send(b"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        huge.send(await bearer(server), b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece, before = b"10000\r\n" + b"x" * 65536 + b"\r\n", process.memory_info().rss
        grown = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(300_000_000 // 65536):
                huge.send(piece)
                await huge.writer.drain()
                grown = max(grown, process.memory_info().rss - before)
        assert (await huge.answer())[0] == 413
    assert grown < 16_000_000


async def test_a_length_that_is_too_large_is_refused_before_the_body(server: Server) -> None:
    async with serving(server.app) as address, client(address) as polite:
        polite.send(b"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        polite.send(await bearer(server), b"\r\nExpect: 100-continue\r\nContent-Length: 300000000\r\n\r\n")
        assert (await polite.answer())[0] == 413


async def test_places_are_limited_by_address_and_in_total(server: Server) -> None:
    limits = Limits(connections=5, connections_per_address=3)
    async with serving(server.app, limits=limits) as address, contextlib.AsyncExitStack() as stack:

        async def come(source: str) -> tuple[int, dict[str, str], bytes]:
            visitor = await stack.enter_async_context(client(address, source))
            visitor.send(HEAD, b"\r\n")
            return await visitor.answer()

        assert [(await come("127.0.0.1"))[0] for _ in range(3)] == [200] * 3
        status, headers, body = await come("127.0.0.1")
        assert (status, headers["retry-after"]) == (429, "5")
        assert json.loads(body)["type"] == "too_many_connections"
        assert [(await come("127.0.0.2"))[0] for _ in range(2)] == [200] * 2
        status, headers, _ = await come("127.0.0.3")
        assert (status, headers["retry-after"]) == (503, "5")


async def test_a_place_is_free_again_when_its_client_leaves(server: Server) -> None:
    async with serving(server.app, limits=Limits(connections=1)) as address:

        async def let_in() -> bool:
            async with client(address) as visitor:
                visitor.send(HEAD, b"\r\n")
                return (await visitor.answer())[0] == 200

        for _ in range(5):
            await eventually(let_in)


async def test_an_answer_that_nobody_reads_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(server.app, limits=HASTY) as address, client(address) as deaf:
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
        monkeypatch.setattr("whilly.server.routes.health.answer", lambda _value: _large())
        deaf.send(HEAD, b"\r\n")

        async def aborted() -> bool:
            deaf.send(b"x")
            return deaf.writer.transport.is_closing()

        await eventually(aborted)


def _large() -> object:
    from starlette.responses import Response

    return Response(b"x" * 20_000_000)


async def test_an_answer_that_is_read_slowly_is_finished(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whilly.server.routes.health.answer", lambda _value: _large())
    async with serving(server.app, limits=HASTY) as address, client(address) as slow:
        slow.send(HEAD, b"\r\n")
        await slow.reader.readuntil(b"\r\n\r\n")
        taken = 0
        while taken < 20_000_000:
            taken += len(await slow.reader.read(400_000))
            await asyncio.sleep(0.02)
    assert taken == 20_000_000


@pytest.mark.slow
async def test_a_thousand_idle_sockets_stand_in_nobodys_way(server: Server) -> None:
    """They cost little memory, whoever asks is served, and after the time for a request they are gone."""
    process = psutil.Process(os.getpid())
    async with serving(server.app, limits=Limits(receipt=8)) as address, contextlib.AsyncExitStack() as stack:
        http = await stack.enter_async_context(over_network(address, ""))
        assert (await http.get("/health/live")).status_code == 200
        before = process.memory_info().rss
        idle = [await stack.enter_async_context(client(address)) for _ in range(1_000)]
        for each in idle:
            each.send(HEAD)
        for _ in range(50):
            assert (await http.get("/health/live")).status_code == 200
        # Both ends of the sockets are in this process.
        assert process.memory_info().rss - before < 80_000_000
        assert [(await each.answer())[0] for each in idle] == [408] * 1_000


def test_what_counts_as_one_address() -> None:
    assert source_of("192.0.2.1") == source_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9") != source_of("2001:db8:1:3::1")
    assert source_of("fe80::1%eth0") == source_of("fe80::2")
    assert source_of("local") == "local"


@pytest.mark.parametrize(
    ("may", "most", "then", "connections"),
    [(1_024, 1_048_576, 5_200, 5_000), (256, 1_024, 1_024, 824), (6_000, 6_000, 6_000, 5_000), (100, 100, 100, 1)],
)
def test_there_are_no_more_connections_than_open_files(
    monkeypatch: pytest.MonkeyPatch, may: int, most: int, then: int, connections: int
) -> None:
    resource = pytest.importorskip("resource")
    now = [(may, most)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: now[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: now.append(wanted))
    assert that_fit(Limits()).connections == connections
    assert now[-1] == (then, most)


def test_a_proxy_may_come_as_often_as_it_likes() -> None:
    crowd = Crowd(Limits(connections=4, connections_per_address=1), networks(["10.0.0.0/8"]))
    assert [crowd.enter("10.1.2.3") for _ in range(2)] == [None, None]
    assert crowd.enter("192.0.2.1") is None
    refused = crowd.enter("192.0.2.1")
    assert refused is not None
    assert refused.status == 429
    crowd.leave("192.0.2.1")
    assert crowd.enter("192.0.2.1") is None


@pytest.mark.slow
async def test_fifty_who_do_not_read_are_let_go_and_nobody_else_notices(server: Server) -> None:
    """Each has a stream and takes nothing of it; work goes on meanwhile, and what waits for them is small."""
    await server.store("p", *(TaskSpec(f"T-{number}", "x") for number in range(20)))
    process = psutil.Process(os.getpid())
    worker = await server.control_plane()
    async with serving(server.app, limits=Limits(stuck=2)) as address, contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            token = await bearer(server)
            for _ in range(5):
                stuck = await stack.enter_async_context(client(address))
                stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]
                stuck.send(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n", token, b"\r\n\r\n")

        async def all_there() -> bool:
            return len(server.engine.live) == 50

        await eventually(all_there, 30)
        before, done = process.memory_info().rss, 0

        async def gone() -> bool:
            async with server.database.transaction() as tx:
                for _ in range(20):
                    tx.tell("p", None, "agent.note", {"text": "x" * 50_000})
            server.engine.wrote()
            return len(server.engine.live) == 0

        while not await gone():
            if held := await worker.claim(ClaimRequest(f"c-{done}", "p", ("scripted",))):
                await worker.finish(held.key, Report(Outcome.COMPLETED, head_commit="c" * 40, files_changed=1))
                done += 1
        assert done > 0
        assert process.memory_info().rss - before < 200_000_000
