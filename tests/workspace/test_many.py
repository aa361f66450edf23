"""Twenty tasks on one repository at once: from one process, and from several."""

import asyncio
import sys
from pathlib import Path

from tests.workspace.ground import Agent, Ground
from whilly.workspace.garbage import discard, sweep
from whilly.workspace.result import collect, publish


async def whole(ground: Ground, task: str) -> str:
    workspace = await ground.prepare(task)
    agent = Agent(workspace)
    agent.write({f"{task}.txt": f"{task}\n"})
    # What another tool's status poll does meanwhile.
    agent.git("status")
    branch = await publish(workspace, await collect(workspace))
    assert await discard(workspace)
    return branch


async def test_twenty_at_once(ground: Ground) -> None:
    before = ground.users.snapshot()
    branches = await asyncio.gather(*(whole(ground, f"T{n}") for n in range(20)))
    assert branches == [f"whilly/demo/T{n}" for n in range(20)]
    assert ground.users.snapshot() == before
    ground.users.is_sound()
    assert ground.leftovers() == []


async def test_a_lock_on_the_users_index_holds_nobody_up(ground: Ground) -> None:
    (ground.users.path / ".git/index.lock").touch()
    (ground.users.path / ".git/config.lock").touch()
    before = ground.users.snapshot()
    assert await whole(ground, "T1") == "whilly/demo/T1"
    assert ground.users.snapshot() == before


async def test_several_processes_at_once(ground: Ground) -> None:
    """The same task from five processes: each has a clone of its own, each result is kept, one is the branch."""
    program = [sys.executable, "-m", "tests.workspace.whole_attempt", str(ground.users.path), str(ground.root)]
    top = Path(__file__).parents[2]
    workers = [await asyncio.create_subprocess_exec(*program, cwd=top) for _ in range(5)]
    assert [await worker.wait() for worker in workers] == [0] * 5
    kept = [ref for ref in ground.users.refs() if ref.startswith("refs/whilly/demo/T1/")]
    assert 1 <= len(kept) <= 5
    assert ground.users.refs()["refs/heads/whilly/demo/T1"] in {ground.users.git("rev-parse", ref) for ref in kept}
    await sweep(ground.root)
    assert ground.leftovers() == []
    ground.users.is_sound()
