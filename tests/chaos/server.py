"""A control plane in a process of its own, to be killed."""

import asyncio
import logging

from whilly.core import outcome
from whilly.server import engine
from whilly.server.app import create_app
from whilly.server.engine import Timing
from whilly.server.serve import serving
from whilly.store.database import AWAY, Database

LEASE = 0.8
SWEEP = 0.25


def serve(url: str, port: int, lease: float, log: str) -> None:
    """Serve until killed. Leases, sweeps and waits after a lost worker are as short as the test is."""
    logging.basicConfig(filename=log, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    engine.SWEEP_EVERY = SWEEP  # type: ignore[misc]
    outcome.BACK_OFF_SECONDS = (0.2, 0.4, 0.8)  # type: ignore[assignment]
    asyncio.run(_serve(url, port, lease))


async def _serve(url: str, port: int, lease: float) -> None:
    database = await _opened(url)
    app = create_app(database, timing=Timing(lease=lease))
    async with app.router.lifespan_context(app), serving(app, port=port):
        await asyncio.Event().wait()


async def _opened(url: str) -> Database:
    """The database, as soon as it can be opened: whoever looks after a server starts it again and again."""
    while True:
        try:
            return await Database.open(url)
        except AWAY:
            await asyncio.sleep(0.1)
