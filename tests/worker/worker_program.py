"""A worker as a process of its own: `python -m tests.worker.worker_program DATABASE_URL FOLDER SCRIPT`.

The plan `p` must be there, with its repository. The agent is the shell with this script.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.worker.control_room import WORKER, control_room
from tests.worker.shell_agent import ShellAgent
from whilly.store.database import Database
from whilly.worker.equipment import Equipment
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop, stop_on_signals


async def main(url: str, folder: Path, script: str) -> None:
    database = await Database.open(url)
    async with control_room(database) as room:
        equipment = Equipment(
            control_plane=room.control_plane,
            address="http://localhost",
            worker=WORKER,
            plan="p",
            runners={"shell": ShellAgent({"*": script})},
            workspaces=folder / "workspaces",
            state=folder / "state",
            environment=os.environ,
            tell=print,
        )
        stop = Stop()
        with stop_on_signals(stop, print):
            await Worker(equipment, slots=2).run(stop)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
