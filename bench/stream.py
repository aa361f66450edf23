"""From the commit of an event to those who watch the stream."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from bench.caller import Caller
from bench.control_plane import ServerProcess, control_plane
from bench.http import numbered, worker_tokens
from bench.plans import layered
from bench.postgres import folder, postgres
from bench.series import Series, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.store.database import Database

P50, P95 = Bar(at_most=25), Bar(at_most=100)
CPU_MS = Bar(at_most=1.5)
BURST = Bar(at_least=500)
LOSS = Bar(at_most=0)
PER_TOKEN = 5
APART = 0.02
"""Seconds between two events that come one by one."""

BURSTS = 50
"""Events that a worker tells in one request, in a burst."""

FRAME = re.compile(rb'id: (\d+)\nevent: [^\n]*\ndata: [^\n]*"at":"([^"]+)"')


@dataclass
class Watcher:
    """What one subscriber got: when, and the bytes."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    frames: int = 0

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Until cancelled. Looks at nothing while it runs, so that the watchers cost little."""
        while piece := await stream.read(2**16):
            self.pieces.append((time.time(), piece))
            self.frames += piece.count(b"\nevent: ")

    def positions(self) -> list[int]:
        """Of the events, in the order in which they came."""
        return [int(found[1]) for found in FRAME.finditer(b"".join(piece for _, piece in self.pieces))]

    def delays(self) -> list[float]:
        """Milliseconds from the database's time of each event to the arrival of its first byte."""
        return [
            (arrived - datetime.fromisoformat(found[2].decode()).astimezone(UTC).timestamp()) * 1e3
            for arrived, piece in self.pieces
            for found in FRAME.finditer(piece)
        ]


@dataclass(frozen=True, slots=True)
class Heard:
    """A round with so many watchers."""

    delays: list[float]
    cpu_ms: float
    """Of the server, per event, beyond what the same events cost when nobody watches."""
    whole_cpu_ms: float
    burst: float
    """Events per second, until the last watcher has the last."""
    lost: int


async def measure(sizes: Sizes) -> Table:
    """Tell events one by one, then as fast as it goes; first to nobody, then to many."""
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("stream"))
        running = await held.enter_async_context(control_plane(database.url, place))
        tokens = [
            (await issue_token(database, TokenKind.OPERATOR, label=f"watcher-{n}")).bearer
            for n in range(-(-max(sizes.subscribers) // PER_TOKEN))
        ]
        (worker,) = await worker_tokens(database, 1)
        await import_plan(database, layered("stream", 1))
        found: dict[int, list[Heard]] = {count: [] for count in sizes.subscribers}
        async with Caller.to(running.port, worker) as caller:
            claim = {"claim_id": "bench", "plan": "stream", "agents": ["scripted"]}
            epoch = (await caller.told("/api/v1/claim", claim))["epoch"]
            path = f"/api/v1/plans/stream/tasks/TASK-0000000/attempts/{epoch}"
            for _ in range(min(sizes.rounds, 3)):
                alone = (await _round(database, running, caller, path, [], sizes.told)).whole_cpu_ms
                for count in sizes.subscribers:
                    heard = await _round(
                        database, running, caller, path, [tokens[n // PER_TOKEN] for n in range(count)], sizes.told
                    )
                    found[count].append(
                        Heard(heard.delays, heard.whole_cpu_ms - alone, heard.whole_cpu_ms, heard.burst, heard.lost)
                    )
    return _table(sizes, found)


async def _round(
    database: Database, running: ServerProcess, caller: Caller, path: str, tokens: list[str], told: int
) -> Heard:
    await numbered(database)
    async with _watching(running.port, tokens) as watchers:
        before = running.cpu()
        for number in range(told):
            if number % 500 == 0:
                await caller.told(f"{path}/heartbeat", {"phase": "agent"})
            await caller.told(
                f"{path}/events", [{"type": "agent.note", "payload": {"number": number, "text": "x" * 100}}]
            )
            await asyncio.sleep(APART)
        await _all_have(watchers, told)
        cpu = running.cpu() - before
        delays = [delay for watcher in watchers for delay in watcher.delays()]
        began = time.perf_counter()
        batch = [{"type": "agent.note", "payload": {"number": n, "text": "x" * 100}} for n in range(BURSTS)]
        for _ in range(-(-told // BURSTS)):
            await caller.told(f"{path}/events", batch)
        in_burst = -(-told // BURSTS) * BURSTS
        await _all_have(watchers, told + in_burst)
        took = time.perf_counter() - began
        lost = sum(_lost(watcher.positions(), told + in_burst) for watcher in watchers)
        return Heard(delays, 0, cpu / told * 1e3, in_burst / took, lost)


def _lost(positions: list[int], told: int) -> int:
    """How many are missing, repeated or in the wrong place."""
    right = sum(later == sooner + 1 for sooner, later in pairwise(positions)) + 1
    return abs(told - len(positions)) + len(positions) - right


@asynccontextmanager
async def _watching(port: int, tokens: list[str]) -> AsyncIterator[list[Watcher]]:
    watchers, following = [], []
    async with AsyncExitStack() as held:
        for place, token in enumerate(tokens):
            caller = await held.enter_async_context(Caller.to(port, token, f"127.0.{1 + place // 50}.2"))
            watchers.append(Watcher())
            following.append(asyncio.create_task(watchers[-1].follow(await caller.listen("/events/stream"))))
        # Each has said that it is there by the time it joins the others.
        await asyncio.sleep(0.5)
        try:
            yield watchers
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
    # The server lets go of them, and counts them no more.
    await asyncio.sleep(1)


async def _all_have(watchers: list[Watcher], count: int) -> None:
    deadline = time.monotonic() + 30
    while min((each.frames for each in watchers), default=count) < count and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.002)


def _table(sizes: Sizes, found: dict[int, list[Heard]]) -> Table:
    figures = []
    for count, rounds in found.items():
        first = count == sizes.subscribers[0]
        who = f"{count} subscribers"

        def at(share: float, of: list[Heard]) -> Series:
            return Series(tuple(percentile(each.delays, share) for each in of))

        figures += [
            Figure(f"commit → client, p50, ms, {who}", at(0.5, rounds), P50 if first else None),
            Figure(f"commit → client, p95, ms, {who}", at(0.95, rounds), P95 if first else None),
            Figure(
                f"server's CPU for all of them, ms/event, {who}",
                Series.of(rounds, lambda each: each.cpu_ms),
                CPU_MS if first else None,
                cpu=f"{Series.of(rounds, lambda each: each.whole_cpu_ms)} ms with the event's own",
            ),
            Figure(f"burst, events/s to all, {who}", Series.of(rounds, lambda each: each.burst), BURST),
            Figure(f"lost, repeated or out of order, {who}", Series.of(rounds, lambda each: each.lost), LOSS),
        ]
    return Table(
        "stream: an event is committed → all who watch have it",
        tuple(figures),
        (
            f"{sizes.told:,} events one by one, {1 / APART:.0f} a second, and as many as fast as they go, {BURSTS} a "
            "request. From the database's time of the event, before its commit, to the arrival at each client, which "
            "share the machine with the server. CPU: what is beyond that of the same events without subscribers.",
        ),
    )
