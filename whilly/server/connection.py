"""One connection of a client, under limits that uvicorn does not know: for how long a request arrives, how large its
head is, how long an answer waits for its reader, and how many connections there are.
"""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from whilly.server.limits import Crowd, source_of
from whilly.wire.codec import encode
from whilly.wire.work import Problem

LEAST_TAKEN = 8_192
"""Bytes of an answer that a client has to take within `Limits.stuck`: fewer keep memory occupied at no cost to it."""

TOO_SLOW = Problem("too_slow", "Too slow", 408, "The request did not arrive completely in time.", "Send it again.")
TOO_LARGE = Problem("head_too_large", "Head too large", 431, "Address and headers are too large.")


class Connection(HttpToolsProtocol):
    """Speaks HTTP/1.1 with one client."""

    def __init__(self, config: Config, state: ServerState, app_state: dict[str, Any], crowd: Crowd) -> None:
        super().__init__(config=config, server_state=state, app_state=app_state)
        self._crowd = crowd
        self._limits = crowd.limits
        self._source: str | None = None
        self._refused = False
        self._whole = self._head_whole = False
        self._received = self._received_body = 0
        self._arriving: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the client in, or say why not."""
        peer = transport.get_extra_info("peername")
        source = source_of(peer[0]) if isinstance(peer, tuple) else "local"
        refusal = self._crowd.enter(source)
        if refusal is not None:
            self.transport = transport
            self._refuse(refusal)
            return
        self._source = source
        super().connection_made(transport)
        self._arriving = self.loop.call_later(self._limits.receipt, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        for timer in (self._arriving, self._leaving):
            if timer is not None:
                timer.cancel()
        self._arriving = self._leaving = None
        if self._source is not None:
            self._crowd.leave(self._source)
            self._source = None
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        if self._refused:
            return
        self._whole = False
        self._received += len(data)
        super().data_received(data)
        if self._whole:
            if self._arriving is not None:
                self._arriving.cancel()
                self._arriving = None
        elif self._received - 2 * self._received_body > self._limits.largest_head:
            # Twice, for a body that comes in small pieces has a line in front of each.
            self._refuse(TOO_LARGE)
        elif self._arriving is None:
            self._arriving = self.loop.call_later(self._limits.receipt, self._too_slow)

    def on_message_begin(self) -> None:
        """The first byte of a request is there."""
        self._whole = self._head_whole = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head of a request is there."""
        self._head_whole = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body is there."""
        self._received_body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of a request is there."""
        self._whole = True
        self._head_whole = False
        self._received = self._received_body = 0
        super().on_message_complete()
        if self.cycle.response_complete:
            # It was answered before it was there, and uvicorn's own limit for a rest has been called off since.
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def pause_writing(self) -> None:
        """The client takes less than it is sent."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """The client has taken what waited for it."""
        super().resume_writing()
        if self._leaving is not None and not self.transport.is_closing():
            self._leaving.cancel()
            self._leaving = None

    def shutdown(self) -> None:
        """The server ends: so does this connection, after the answer that it waits for."""
        super().shutdown()
        if self.transport.is_closing():
            self._wait_for_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Nobody has asked anything for a while."""
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        self._refuse(Problem("malformed", "Malformed", 400, msg))

    def _too_slow(self) -> None:
        self._arriving = None
        if self.transport.is_closing() or self.pipeline:
            self.transport.abort()
        elif self.cycle is None or self.cycle.response_complete:
            if self._head_whole:
                # Answered long ago, and the body comes and comes.
                self.transport.abort()
            else:
                self._refuse(TOO_SLOW)
        elif not self._head_whole:
            self.cycle.keep_alive = False
        elif self.cycle.response_started:
            self.transport.abort()
        else:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._refuse(TOO_SLOW)

    def _refuse(self, problem: Problem) -> None:
        self._refused = True
        if not self.transport.is_closing():
            self.transport.write(_whole_answer(problem))
            self.transport.close()
        self._wait_for_reader()

    def _wait_for_reader(self) -> None:
        """Abort the connection, unless its client takes some of what waits for it now and then."""
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._leaving is None:
            self._leaving = self.loop.call_later(self._limits.stuck, self._still_there, waiting)

    def _still_there(self, waiting: int) -> None:
        self._leaving = None
        if waiting - self.transport.get_write_buffer_size() < min(LEAST_TAKEN, waiting):
            self.transport.abort()
        else:
            self._wait_for_reader()


def _whole_answer(problem: Problem) -> bytes:
    body = encode(problem)
    retry = b"Retry-After: 5\r\n" if problem.status in (429, 503) else b""
    title = problem.title.encode("ascii")
    return (
        b"HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n"
        b"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%sConnection: close\r\n\r\n"
        % (problem.status, title, len(body), retry)
    ) + body
