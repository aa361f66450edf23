"""The way between a worker and its control plane, which breaks when told to."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import httpx2


class Fault(Enum):
    CUT = "no connection"
    BLACK_HOLE = "no answer, for ever"
    ERROR = "500"
    GATEWAY = "502 with a page"
    LOST_ANSWER = "the request is carried out and its answer is lost"
    TWICE = "the request arrives twice"


@dataclass
class Network(httpx2.AsyncBaseTransport):
    """Passes requests on, except where a fault is set for their verb (`heartbeat`, `finish` …) or for all (`*`)."""

    inner: httpx2.AsyncBaseTransport
    faults: dict[str, Fault] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """The verb of each request."""
    passed: list[str] = field(default_factory=list)
    """The verbs of those that reached the control plane."""
    on_request: Callable[[str], None] = lambda _: None
    draw: Callable[[], Fault | None] = lambda: None
    """The fault of a request for which none is set."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        verb = request.url.path.rsplit("/", 1)[-1]
        self.seen.append(verb)
        self.on_request(verb)
        match self.faults.get(verb, self.faults.get("*")) or self.draw():
            case Fault.CUT:
                raise httpx2.ConnectError("no connection")
            case Fault.BLACK_HOLE:
                await asyncio.Event().wait()
            case Fault.ERROR:
                return httpx2.Response(500, text="Internal Server Error")
            case Fault.GATEWAY:
                return httpx2.Response(502, html="<html><h1>Bad gateway</h1></html>")
            case Fault.LOST_ANSWER:
                await self._pass(verb, request)
                raise httpx2.ReadError("connection reset by peer")
            case Fault.TWICE:
                await self._pass(verb, request)
        return await self._pass(verb, request)

    async def _pass(self, verb: str, request: httpx2.Request) -> httpx2.Response:
        self.passed.append(verb)
        again = httpx2.Request(request.method, request.url, headers=request.headers, content=request.content)
        response = await self.inner.handle_async_request(again)
        await response.aread()
        return response
