"""A network that cuts, delays, repeats and swallows, between clients and one server each.

It knows where a request begins and ends, because what hurts is a request that arrives twice, or whose answer does not.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import StrEnum

HOLD_SECONDS = 20.0
"""How long a connection stays open that leads nowhere, unless its client ends it: longer than any client waits."""

LATE_SECONDS = 0.3
AGAIN_SECONDS = 1.2
"""A repeated request arrives up to so much later, when its first answer may long have been acted upon."""


class Fate(StrEnum):
    """What happens to a request."""

    FINE = "went through"
    LATE = "delayed"
    CUT = "cut before they arrived"
    TWICE = "delivered twice"
    LOST_ANSWER = "answers lost"
    CUT_ANSWER = "answers cut in the middle"
    HALF_OPEN = "answered into a connection that was half open"
    BLACK_HOLE = "swallowed"


HOSTILE: Mapping[Fate, float] = {
    Fate.LATE: 0.04,
    Fate.CUT: 0.02,
    Fate.TWICE: 0.1,
    Fate.LOST_ANSWER: 0.02,
    Fate.CUT_ANSWER: 0.02,
    Fate.HALF_OPEN: 0.002,
    Fate.BLACK_HOLE: 0.002,
}
"""Chances, per request."""


class Network:
    """Ways to servers; each client has one of its own, which may be cut for as long as one likes."""

    def __init__(self, chance: random.Random, fates: Mapping[Fate, float] = HOSTILE) -> None:
        self.met: Counter[Fate] = Counter()
        self._chance, self._fates = chance, fates
        self._clear: dict[str, asyncio.Event] = {}
        self._going_on: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def way(self, address: str) -> AsyncIterator[str]:
        """An address that leads to a server's, through all of this."""
        port = int(address.rpartition(":")[2])
        clear = asyncio.Event()
        clear.set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _Wire(self, port, clear, reader, writer).serve()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        way = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._clear[way] = clear
        try:
            yield way
        finally:
            clear.set()
            server.close()
            for task in self._going_on:
                task.cancel()

    @contextmanager
    def down(self, way: str) -> Iterator[None]:
        """Nothing passes on this way, in either direction, and nobody is told; afterwards everything arrives."""
        self._clear[way].clear()
        try:
            yield
        finally:
            self._clear[way].set()

    def fate(self) -> Fate:
        """Of the next request."""
        shares = [*self._fates.values(), 1 - sum(self._fates.values())]
        (fate,) = self._chance.choices([*self._fates, Fate.FINE], shares)
        self.met[fate] += 1
        return fate

    def within(self, seconds: float) -> float:
        """A chance part of it."""
        return self._chance.random() * seconds

    def cuts_stream(self) -> bool:
        """Whether a stream ends after this piece, in the middle of it."""
        return self._chance.random() < self._fates.get(Fate.CUT_ANSWER, 0) / 2

    def repeat(self, port: int, request: bytes) -> None:
        """Deliver a request once more, on a connection of its own; nobody hears the answer."""
        task = asyncio.create_task(_again(port, request, self.within(AGAIN_SECONDS)))
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)


class _Wire:
    """One connection of a client."""

    def __init__(
        self,
        network: Network,
        port: int,
        clear: asyncio.Event,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._network, self._port, self._clear = network, port, clear
        self._reader, self._writer = reader, writer
        self._fate = Fate.FINE

    async def serve(self) -> None:
        """Until one of the two ends it, or the network does."""
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            self._writer.transport.abort()
            return
        ways = [asyncio.create_task(self._there(to_server)), asyncio.create_task(self._back(from_server))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ways:
                each.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._writer.transport.abort()
            to_server.transport.abort()

    async def _there(self, to_server: asyncio.StreamWriter) -> None:
        while request := await _request(self._reader):
            self._fate = self._network.fate()
            if self._fate is Fate.CUT:
                return
            if self._fate is Fate.BLACK_HOLE:
                await self._hold()
                return
            if self._fate is Fate.LATE:
                await asyncio.sleep(self._network.within(LATE_SECONDS))
            if self._fate is Fate.TWICE and request.startswith(b"POST"):
                self._network.repeat(self._port, request)
            await self._clear.wait()
            to_server.write(request)
            await to_server.drain()

    async def _back(self, from_server: asyncio.StreamReader) -> None:
        while piece := await from_server.read(2**16):
            await self._clear.wait()
            if self._fate is Fate.LOST_ANSWER:
                return
            if self._fate is Fate.HALF_OPEN:
                await self._hold()
                return
            cut = self._fate is Fate.CUT_ANSWER or (b"\nevent: " in piece and self._network.cuts_stream())
            self._writer.write(piece[: int(self._network.within(len(piece)))] if cut else piece)
            await self._writer.drain()
            if cut:
                return

    async def _hold(self) -> None:
        """Let the client wait; it may end that at any moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                while await self._reader.read(2**16):
                    pass


async def _request(reader: asyncio.StreamReader) -> bytes:
    """One whole request; empty when there is none any more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        return head + await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return b""


async def _again(port: int, request: bytes, seconds: float) -> None:
    await asyncio.sleep(seconds)
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.timeout(HOLD_SECONDS):
                writer.write(request)
                await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.transport.abort()
