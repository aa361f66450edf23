"""A response that lasts: server-sent events to a client that may vanish or stop reading at any moment."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.store.database import AWAY

IN_TOTAL = 500
PER_TOKEN = 5
SEND_SECONDS = 10.0
"""A client that does not take a piece within this time, and half of it, is gone, whatever its connection says."""

CHECK_TOKEN_EVERY = 30.0
"""Seconds: the most that a stream outlives the token that opened it."""


class StreamLimits:
    """Counts the open streams."""

    def __init__(self) -> None:
        self._of_token: Counter[str] = Counter()

    @contextmanager
    def one_more(self, token: str) -> Iterator[None]:
        """Count a stream while it lasts. Raises Denied when there are too many."""
        self.check(token)
        self._of_token[token] += 1
        try:
            yield
        finally:
            self._of_token[token] -= 1
            if not self._of_token[token]:
                del self._of_token[token]

    def check(self, token: str) -> None:
        """Raise Denied when one more would be too many."""
        if self._of_token[token] >= PER_TOKEN:
            detail = f"This token has {PER_TOKEN} open streams already."
            raise Denied(429, "too_many_streams", detail, "Close one of them.", {"Retry-After": "5"})
        if self._of_token.total() >= IN_TOTAL:
            detail = f"The server has {IN_TOTAL} open streams already."
            raise Denied(503, "too_many_streams", detail, "Try again later.", {"Retry-After": "15"})


class EventStream(Response):
    """Sends what the iterator gives until it ends, the client leaves or does not read, or its token is revoked."""

    def __init__(self, request: Request, pieces: AsyncGenerator[bytes]) -> None:
        self._token = caller_of(request).token
        self._limits: StreamLimits = request.app.state.streams
        self._limits.check(self._token)
        self._request = request
        self._pieces = pieces
        self._sends_since: float | None = None
        super().__init__(media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        with self._limits.one_more(self._token):
            sending = asyncio.create_task(self._send_all(send))
            stuck = asyncio.create_task(self._stuck())
            ends = (sending, stuck, asyncio.create_task(_left(receive)), asyncio.create_task(self._revoked()))
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for end in ends:
                    end.cancel()
                await asyncio.wait(ends)
        if not stuck.cancelled():
            return
        if sending.cancelled():
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif (failure := sending.exception()) is not None:
            if not isinstance(failure, AWAY):
                raise failure
            # The client comes back, and finds the database again or is told that it is away.
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                self._sends_since = time.monotonic()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                self._sends_since = None
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stuck(self) -> None:
        """Return when the client does not take a piece. Looks now and then: a timer for each piece costs more."""
        while self._sends_since is None or time.monotonic() - self._sends_since < SEND_SECONDS:  # noqa: ASYNC110 - a clock
            await asyncio.sleep(SEND_SECONDS / 2)

    async def _revoked(self) -> None:
        access = engine_of(self._request).access
        while True:
            await asyncio.sleep(CHECK_TOKEN_EVERY)
            with suppress(*AWAY):
                try:
                    known = await access.caller(self._request)
                except Denied:
                    return
                if known is None:
                    return


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
