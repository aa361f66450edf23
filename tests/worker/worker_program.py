"""A worker as a process of its own: `python -m tests.worker.worker_program CONTROL_PLANE FOLDER SCRIPT`.

CONTROL_PLANE is the URL of a database, for a control plane in the same process, or `http://…`, with the token in the
environment variable TOKEN. With TAKE_OVER set it takes the identity from a process that is at work. The plan `p` must
be there, with its repository. The agent is the shell with this script.
"""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from tests.worker.control_room import WORKER, control_room
from tests.worker.shell_agent import ShellAgent
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Rejected
from whilly.store.database import Database
from whilly.worker.equipment import Equipment
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop, stop_on_signals


async def main(url: str, folder: Path, script: str) -> None:
    if url.startswith("http:"):
        async with over_network(url, os.environ["TOKEN"]) as http:
            await work(ControlPlane(http), folder, script)
        return
    database = await Database.open(url)
    async with control_room(database) as room:
        await work(room.control_plane, folder, script)
    await database.close()


async def work(control_plane: ControlPlane, folder: Path, script: str) -> None:
    stop = Stop()
    equipment = Equipment(
        control_plane=control_plane,
        address="http://localhost",
        worker=WORKER,
        plan="p",
        runners={"shell": ShellAgent({"*": script})},
        workspaces=folder / "workspaces",
        state=folder / "state",
        environment=os.environ,
        take_over="TAKE_OVER" in os.environ,
        tell=partial(print, flush=True),
    )
    with stop_on_signals(stop, print):
        try:
            await Worker(equipment).run(stop)
        except Rejected as refusal:
            sys.exit(f"refused: {refusal}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
