"""The control plane as the environment describes it, for servers that only get an application: uvicorn and the like."""

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from whilly.core.errors import BadSetting
from whilly.server.auth import GivenBearers
from whilly.server.loops.mirror import Mirror
from whilly.settings import Settings
from whilly.store.database import Database
from whilly.store.opening import opened

log = logging.getLogger(__name__)

CONNECTIONS = 10
VITAL = 6
"""Connections to the database of one server process, and those kept apart for heartbeats, reports and the loops."""

SHORTEST_BEARER = 20
"""Characters of a bearer that somebody made up."""

PATIENCE = 1.0
"""Seconds that a request waits for a connection before it is answered with 503."""


@asynccontextmanager
async def database_of_environment() -> AsyncIterator[tuple[Database, Settings, Mirror | None]]:
    """Open what the environment names. Raises WhillyError when something there is not as it must be."""
    settings = Settings.from_environment()
    where = settings.database_url, settings.data_dir
    async with opened(*where, size=CONNECTIONS, vital=VITAL, patience=PATIENCE) as database:
        mirror = None if settings.log_dir is None else Mirror(database, settings.log_dir)
        yield database, settings, mirror


def given_bearers(settings: Settings) -> GivenBearers:
    """The bearers that the environment names. Raises BadSetting for one that can be guessed."""
    for name, bearer in (
        ("WHILLY_WORKER_BOOTSTRAP_TOKEN", settings.bootstrap_token),
        ("WHILLY_WORKER_TOKEN", settings.shared_worker_token),
    ):
        if bearer is not None and len(bearer) < SHORTEST_BEARER:
            raise BadSetting(
                f"{name} has only {len(bearer)} characters and could be guessed; make one with `openssl rand -hex 32`."
            )
    if settings.shared_worker_token is not None and not settings.quiet_about_shared_token:
        log.warning(
            "WHILLY_WORKER_TOKEN is deprecated: all who have it are one worker; give each a token of its own with "
            "`whilly worker register` (WHILLY_SUPPRESS_WORKER_TOKEN_WARNING=1 keeps this quiet)"
        )
    return GivenBearers(settings.metrics_token, settings.bootstrap_token, settings.shared_worker_token)


@contextmanager
def on_first_signal(let_go: Callable[[], None]) -> Iterator[None]:
    """Call it as soon as the server is told to end.

    A server that waits for open connections before it says anything to the application would wait for long polls and
    streams, which end only when they are told to.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def heard(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(let_go)
        handler = earlier[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)  # type: ignore[arg-type]

    ours = [number for number, handler in earlier.items() if callable(handler)]
    for number in ours:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is heard:
                signal.signal(number, earlier[number])
