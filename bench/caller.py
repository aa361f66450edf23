"""An HTTP client that costs little, so that it is the server that is measured."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

import msgspec

LARGEST = 2**22
_length = b"content-length:"


class Caller:
    """A connection that stays, with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bearer: str) -> None:
        self._reader, self._writer = reader, writer
        self._head = b"host: localhost\r\ncontent-type: application/json\r\nwhilly-protocol: 1\r\n"
        if bearer:
            self._head += b"authorization: Bearer %s\r\n" % bearer.encode()

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int, bearer: str = "", source: str = "127.0.0.1") -> AsyncIterator[Self]:
        """Connect to a port of this machine. `source`: the address to come from, for limits that count by address."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), limit=LARGEST)
        try:
            yield cls(reader, writer, bearer)
        finally:
            writer.transport.abort()

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send JSON; the status and the body of the answer."""
        content = b"" if body is None else msgspec.json.encode(body)
        head = b"%s %s HTTP/1.1\r\n%scontent-length: %d\r\n\r\n"
        self._writer.write(head % (method.encode(), path.encode(), self._head, len(content)) + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        return int(answer[9:12]), await self._reader.readexactly(_content_length(answer))

    async def told(self, path: str, body: Any = None) -> Any:
        """POST; the JSON of the answer, None for 204. Raises RuntimeError for any other answer than success."""
        status, content = await self.ask("POST", path, body)
        if status not in (200, 201, 204):
            raise RuntimeError(f"POST {path} was answered {status}: {content[:500].decode(errors='replace')}")
        return msgspec.json.decode(content) if content else None

    async def listen(self, path: str, last_event_id: int | None = None) -> asyncio.StreamReader:
        """Open a stream; what is read of it is its chunks, as they come."""
        asked = b"" if last_event_id is None else b"last-event-id: %d\r\n" % last_event_id
        self._writer.write(b"GET %s HTTP/1.1\r\n%s%s\r\n" % (path.encode(), self._head, asked))
        answer = await self._reader.readuntil(b"\r\n\r\n")
        if answer[9:12] != b"200":
            raise RuntimeError(f"GET {path} was answered {answer.decode(errors='replace')}")
        return self._reader


@asynccontextmanager
async def callers(port: int, bearers: Iterable[str]) -> AsyncIterator[list[Caller]]:
    """One connection for each bearer. Servers close those that are quiet for seconds, so open them when it begins."""
    async with AsyncExitStack() as held:
        yield [await held.enter_async_context(Caller.to(port, bearer)) for bearer in bearers]


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    place = lowered.find(_length)
    return 0 if place < 0 else int(lowered[place + len(_length) : lowered.index(b"\r\n", place)])
