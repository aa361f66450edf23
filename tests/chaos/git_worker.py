"""A whole worker, with real clones and the scripted agent, in a process that may be killed at any moment."""

import asyncio
import os
from pathlib import Path

from whilly.agents.script import read_scripts
from whilly.agents.scripted import ScriptedAgent
from whilly.client.back_off import BackOff
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.worker.equipment import Equipment
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop

SLOTS = 2


def work(address: str, token: str, plan: str, name: str, folder: str, scripts: str) -> None:
    """Work until killed. All workers share one folder of workspaces, as those of one machine do."""
    # What agents inherit of the environment: by it they are found if one is left.
    os.environ["TMPDIR"] = folder
    asyncio.run(_work(address, token, plan, name, Path(folder), scripts))


async def _work(address: str, token: str, plan: str, name: str, folder: Path, scripts: str) -> None:
    async with over_network(address, token) as http:
        with (folder / f"said-by-{name}").open("a", encoding="utf-8", buffering=1) as said:
            equipment = Equipment(
                control_plane=ControlPlane(http, back_off=BackOff(0.05, 0.5)),
                address=address,
                worker=name,
                plan=plan,
                runners={"scripted": ScriptedAgent(os.environ, read_scripts(scripts, "the scripts"))},
                workspaces=folder / "workspaces",
                state=folder / name,
                environment=os.environ,
                claim_wait_seconds=2,
                tell=lambda sentence: print(sentence, file=said),
            )
            await Worker(equipment, slots=SLOTS).run(Stop())
