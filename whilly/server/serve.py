"""An application on a socket, in an event loop that is running already."""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from whilly.core.errors import BadSetting
from whilly.server.limits import LIMITS, Crowd, Limits, networks

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

LOOPBACK = "127.0.0.1"
DRAIN_SECONDS = 5
"""How long requests that are being answered may take to their end when the server stops."""

BACKLOG = 2048

# What clients send is not worth a line each; what goes wrong on our side is.
logging.getLogger("uvicorn").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of the certificate, with those that lead to its root, and of its key."""

    certificate: Path
    key: Path | None = None


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; clients wait until it is served. Raises BadSetting when that cannot be."""
    family, place = _place(host, port)
    # Named as TCP, or asyncio leaves Nagle's algorithm on, and every second answer is 40 ms late.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        raise BadSetting(
            f"Port {port} of {host} cannot be used ({problem.strerror or problem}); choose another one with --port."
        ) from problem
    listening.set_inheritable(False)
    return listening


def address_of(listening: socket.socket, host: str, *, tls: bool) -> str:
    """Where the socket is reached, as a URL."""
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{name}:{listening.getsockname()[1]}"


@asynccontextmanager
async def serving(
    app: Starlette,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    listening: socket.socket | None = None,
    tls: Tls | None = None,
    proxies: Sequence[str] = (),
    limits: Limits = LIMITS,
) -> AsyncIterator[str]:
    """Answer on a port (0: a free one), or a socket, and give the address. The application's own lifespan is the
    caller's to run.

    `proxies` are believed when they say for whom they ask and by which scheme. Raises BadSetting when the port is
    taken or the certificate is none.
    """
    crowd = Crowd(limits, networks(proxies))
    context = None if tls is None else tls_context(tls)
    if listening is None:
        listening = bind(host, port)
    behind: ASGI3Application = app  # type: ignore[assignment]
    if proxies:
        behind = ProxyHeadersMiddleware(behind, list(proxies))
    config = uvicorn.Config(
        behind,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    config.timeout_keep_alive = limits.idle  # type: ignore[assignment] # seconds with a fraction will do
    server = _Server(config, crowd, context, app.state.engine.close)
    running = asyncio.create_task(server.serve([listening]))
    try:
        ready = asyncio.create_task(server.ready.wait())
        await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            running.result()
        yield address_of(listening, host, tls=tls is not None)
    finally:
        server.should_exit = True
        await running


def tls_context(tls: Tls) -> ssl.SSLContext:
    """The certificate as it is served. Raises BadSetting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise BadSetting(
            f"The certificate {tls.certificate} cannot be used ({reason}); it and its key are files in PEM format."
        ) from problem
    return context


class _Server(uvicorn.Server):
    """Leaves signals to the command that runs it, and lets go of those who wait when it ends."""

    def __init__(
        self, config: uvicorn.Config, crowd: Crowd, tls: ssl.SSLContext | None, let_go: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._crowd = crowd
        self._tls = tls
        self._let_go = let_go
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        from whilly.server.connection import Connection

        def connection() -> Connection:
            return Connection(self.config, self.server_state, {}, self._crowd)

        timeouts: dict[str, Any] = {}
        if self._tls is not None:
            timeouts = {"ssl_handshake_timeout": self._crowd.limits.receipt, "ssl_shutdown_timeout": 2.0}
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(connection, sock=each, ssl=self._tls, backlog=BACKLOG, **timeouts)
            for each in sockets or ()
        ]
        self.started = True
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is being asked, and no more."""
        self._let_go()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Catch none."""
        yield


def _place(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as problem:
        raise BadSetting(f"{host!r} is no address of this machine; choose another one with --host.") from problem
    family, _, _, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, place
