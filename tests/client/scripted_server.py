"""A real socket whose answers are written down in advance, one for each request; faults included."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Says:
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class Resets:
    """Takes the request and cuts the connection: the answer is lost, whatever was committed."""


class Hangs:
    """Takes the request and never answers."""


Answer = Says | Resets | Hangs


def problem(status: int, kind: str, detail: str = "It cannot be.", remedy: str = "") -> Says:
    body = f'{{"type": "{kind}", "title": "No", "status": {status}, "detail": "{detail}", "remedy": "{remedy}"}}'
    return Says(status, body.encode(), "application/problem+json")


@dataclass
class ScriptedServer:
    answers: list[Answer]
    url: str = ""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Path, headers and body of each."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.requests.append((first.split(" ")[1], headers, body))
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if isinstance(answer, Hangs):
                    await asyncio.Event().wait()
                if not isinstance(answer, Says):
                    return
                more = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
                length = "" if answer.status == 204 else f"Content-Length: {len(answer.body)}\r\n"
                line = f"HTTP/1.1 {answer.status} Said\r\nContent-Type: {answer.content_type}\r\n{length}{more}\r\n"
                writer.write(line.encode() + answer.body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def serving(answers: Sequence[Answer]) -> AsyncIterator[ScriptedServer]:
    """Gives each request the next answer, and the last one for ever."""
    scripted = ScriptedServer(list(answers))
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()
