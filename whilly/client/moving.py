"""The way to a control plane whose address changes: nobody gets the bearer who has not proved to be it.

A tunnel's name may be somebody else's tomorrow, so an address is believed only while it answers as the control plane
does. After a failure, or an answer from something in between, it has to prove itself again before the next bearer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx2

from whilly.client.back_off import BackOff
from whilly.wire.protocol import HEADER

log = logging.getLogger(__name__)

PLACEHOLDER = "http://control-plane.invalid"
"""What requests are addressed to; where they really go is decided when they are sent."""

PROOF_SECONDS = 10.0

Prove = Callable[[httpx2.AsyncClient, str], Awaitable[None]]
"""Has the address prove that it is the control plane, over a client without a bearer. Raises NotProven."""


class NotProven(Exception):
    """Whoever answers at the address has not proved to be the control plane; the text says what is wrong."""


class MovingTransport(httpx2.AsyncBaseTransport):
    """Sends each request to the newest address, once that has proved itself."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, prove: Prove, *, tell: Callable[[str], None]) -> None:
        """`tell` takes a sentence about each new address, and about one that proves nothing, once."""
        self._inner = inner
        self._prove = prove
        self._tell = tell
        self._address = ""
        self._moved = asyncio.Event()
        self._proven = ""
        self._proving = asyncio.Lock()
        self._accused = ""

    @property
    def address(self) -> str:
        """Where requests go; empty while that is not known."""
        return self._address

    def move(self, address: str) -> None:
        """From now on it is there. Requests that wait for an answer from the old address are given up."""
        if address == self._address:
            return
        if self._address:
            self._tell(f"The control plane has moved to {address}.")
        self._address = address
        self._proven = self._accused = ""
        self._moved.set()
        self._moved = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises ConnectError while there is no address, or none that proves itself."""
        address, moved = self._address, self._moved
        if not address:
            raise httpx2.ConnectError("it is not known yet where the control plane is", request=request)
        work = asyncio.ensure_future(self._send(request, address))
        moving = asyncio.ensure_future(moved.wait())
        try:
            await asyncio.wait((work, moving), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise httpx2.ConnectError("the control plane has moved to another address", request=request)
            return work.result()
        finally:
            for each in (work, moving):
                each.cancel()
            await asyncio.gather(work, moving, return_exceptions=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _send(self, request: httpx2.Request, address: str) -> httpx2.Response:
        await self._ensure_proven(request, address)
        try:
            response = await self._inner.handle_async_request(_redirected(request, address))
        except httpx2.TransportError:
            self._doubt(address)
            raise
        if HEADER.lower() not in response.headers:
            self._doubt(address)
        return response

    def _doubt(self, address: str) -> None:
        if self._proven == address:
            self._proven = ""

    async def _ensure_proven(self, request: httpx2.Request, address: str) -> None:
        async with self._proving:
            if self._proven == address:
                return
            client = httpx2.AsyncClient(transport=_Borrowed(self._inner), base_url=address, timeout=None)
            try:
                async with asyncio.timeout(PROOF_SECONDS):
                    await self._prove(client, address)
            except NotProven as impostor:
                self._accuse(address, str(impostor))
                raise httpx2.ConnectError(
                    f"{address} has not proved to be the control plane", request=request
                ) from None
            except TimeoutError:
                raise httpx2.ConnectError(f"{address} does not prove who it is", request=request) from None
            if self._address == address:
                self._proven = address

    def _accuse(self, address: str, why: str) -> None:
        if self._accused != address:
            self._accused = address
            self._tell(f"Whoever answers at {address} is not the control plane, and gets no token: {why}")


class _Borrowed(httpx2.AsyncBaseTransport):
    """The same connections, which stay open when this is closed."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._inner.handle_async_request(request)


async def follow(
    read: Callable[[], Awaitable[str | None]],
    transport: MovingTransport,
    *,
    every: float,
    tell: Callable[[str], None],
) -> None:
    """Look for the address for ever; `read` gives it, None when there is none yet, and raises for a bad one.

    What it raises is told once, until it is something else.
    """
    said = ""
    back_off = BackOff(every, 4 * every)
    failures = 0
    while True:
        try:
            found = await read()
            failures, said = 0, ""
            if found:
                transport.move(found)
        except Exception as failure:
            failures += 1
            if str(failure) != said:
                said = str(failure)
                tell(f"The control plane's address cannot be read: {failure}")
        await asyncio.sleep(every if not failures else max(every, back_off.seconds(failures)))


def _redirected(request: httpx2.Request, address: str) -> httpx2.Request:
    parts = urlsplit(address)
    url = request.url.copy_with(scheme=parts.scheme, host=parts.hostname, port=parts.port)
    headers = httpx2.Headers(request.headers)
    headers["Host"] = parts.netloc
    return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=request.extensions)
