"""A control plane in a process of its own, to be killed: `python -m tests.chaos.server_program URL PORT LEASE`."""

import asyncio
import sys

from whilly.server.app import create_app
from whilly.server.engine import Timing
from whilly.server.serve import serving
from whilly.store.database import Database


async def serve(url: str, port: int, lease: float) -> None:
    """Serve until killed."""
    database = await Database.open(url)
    app = create_app(database, timing=Timing(lease=lease))
    async with app.router.lifespan_context(app), serving(app, port=port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
