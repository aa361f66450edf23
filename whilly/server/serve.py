"""An application on a socket, in an event loop that is running already."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette

from whilly.core.errors import BadSetting
from whilly.server.engine import Engine

LOOPBACK = "127.0.0.1"
DRAIN_SECONDS = 5


@asynccontextmanager
async def serving(app: Starlette, *, host: str = LOOPBACK, port: int = 0) -> AsyncIterator[str]:
    """Answer on a port (0: a free one) and give the address. The application's own lifespan is the caller's to run.

    Raises BadSetting when the port is taken.
    """
    listening = _socket(host, port)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = _Server(config, app.state.engine)
    running = asyncio.create_task(server.serve([listening]))
    try:
        ready = asyncio.create_task(server.ready.wait())
        await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            running.result()
        name = f"[{host}]" if ":" in host else host
        yield f"http://{name}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


class _Server(uvicorn.Server):
    """Leaves signals to the command that runs it, and lets go of those who wait when it ends."""

    def __init__(self, config: uvicorn.Config, engine: Engine) -> None:
        super().__init__(config)
        self._engine = engine
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is being asked, and no more."""
        self._engine.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Catch none."""
        yield


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on, and every second answer is 40 ms late.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as problem:
        listening.close()
        raise BadSetting(
            f"Port {port} of {host} cannot be used ({problem.strerror or problem}); choose another one with --port."
        ) from problem
    listening.set_inheritable(False)
    return listening
