"""One attempt from the clone to the branch, as a program that can be killed at any point."""

import asyncio
import sys
from pathlib import Path

from tests.workspace.ground import NO_FLOOR, Agent
from whilly.workspace.clone import prepare
from whilly.workspace.result import collect, publish
from whilly.workspace.source import Source

WORK = {"README.md": "the agent's words\n", "new.txt": "new words\n"}


async def attempt(users: Path, root: Path) -> None:
    workspace = await prepare(Source(users), root=root, plan="demo", task="T1", epoch=1, floor=NO_FLOOR)
    agent = Agent(workspace)
    agent.commit("Mine", {"own.txt": "own words\n"})
    agent.write(WORK)
    (root.parent / "worked").touch()
    await publish(workspace, await collect(workspace))


if __name__ == "__main__":
    asyncio.run(attempt(Path(sys.argv[1]), Path(sys.argv[2])))
