"""`python -m bench.serving URL PORT`: a control plane on one socket until SIGTERM."""

import asyncio
import signal
import sys

import uvloop

from whilly.server.app import create_app
from whilly.server.environment import CONNECTIONS, PATIENCE, VITAL
from whilly.server.serve import serving
from whilly.store.database import Database


async def serve(url: str, port: int) -> None:
    """Serve until told to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = await Database.open(url, size=CONNECTIONS, vital=VITAL, patience=PATIENCE)
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app, port=port):
        await stop.wait()
    await database.close()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2])))
