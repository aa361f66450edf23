"""A worker with everything it needs: the real control plane, a real repository, real agents and checks."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.worker.control_room import WORKER, ControlRoom, control_room
from tests.worker.repository import Repository, new_repository
from tests.worker.shell_agent import ShellAgent
from tests.worker.until import until
from whilly.agents.runner import AgentRunner
from whilly.core.plan import Plan
from whilly.store.database import Database
from whilly.worker.ended import Ended
from whilly.worker.equipment import Equipment
from whilly.worker.journal import Journal
from whilly.worker.loop import Worked, Worker
from whilly.worker.stop import Stop

FINISHED = ("DONE", "FAILED", "SKIPPED", "BLOCKED", "HUMAN_LOOP")


@dataclass
class Workshop:
    room: ControlRoom
    repository: Repository
    equipment: Equipment
    agent: ShellAgent
    said: list[str]
    ended: list[Ended]

    @property
    def journal(self) -> Journal:
        return Journal(self.equipment.state, self.equipment.address)

    def leftovers(self) -> list[str]:
        """What lies in the folder of workspaces, except for locks."""
        root = self.equipment.workspaces
        return (
            sorted(each.name for each in root.iterdir() if each.name not in ("locks", "packs")) if root.exists() else []
        )

    async def work(self, plan: Plan, *, slots: int = 1, max_tasks: int | None = None, **changes: Any) -> Worked:
        """Work until no task of the plan can go on, then stop the worker."""
        await self.room.submit(plan, self.repository.path)
        async with self.working(slots=slots, max_tasks=max_tasks, **changes) as (stop, worker):
            while not worker.done() and not await self._settled(plan.id):
                await asyncio.wait({worker}, timeout=0.02)
            stop.set()
            return await worker

    @asynccontextmanager
    async def working(
        self, *, slots: int = 1, max_tasks: int | None = None, **changes: Any
    ) -> AsyncIterator[tuple[Stop, "asyncio.Task[Worked]"]]:
        """A worker that works, until it is stopped or the test ends."""
        stop = Stop()
        worker = Worker(replace(self.equipment, **changes), slots=slots, max_tasks=max_tasks)
        running = asyncio.create_task(worker.run(stop))
        try:
            yield stop, running
        finally:
            stop.set()
            stop.set()
            await asyncio.wait({running})

    async def reached(self, task: str, status: str) -> None:
        """Wait until a task has a status."""
        ends = asyncio.get_running_loop().time() + 30
        while (now := (await self.room.task(task))["status"]) != status:
            assert asyncio.get_running_loop().time() < ends, f"{task} is {now}, not {status}: {self.said}"
            await asyncio.sleep(0.02)

    async def attempt_ended(self, task: str, epoch: int = 1) -> None:
        """Wait until an attempt has an outcome."""
        ends = asyncio.get_running_loop().time() + 30
        while not any(each["epoch"] == epoch and each["ended_at"] for each in await self.room.attempts(task)):
            assert asyncio.get_running_loop().time() < ends, f"attempt {epoch} of {task} does not end: {self.said}"
            await asyncio.sleep(0.02)

    async def lease_lasts(self, task: str) -> bool:
        """Whether the control plane could not yet have given the task to somebody else."""
        async with self.room.database.connection() as connection:
            query = "select lease_until > clock_timestamp() from tasks where id = $1"
            return bool(await connection.fetchval(query, task))

    async def appears(self, path: Path) -> str:
        """Wait until a script has written a file; its content."""
        await until(lambda: path.exists() and path.read_text(encoding="utf-8"), f"{path} is written; {self.said}")
        return path.read_text(encoding="utf-8").strip()

    async def appears_at_all(self, path: Path) -> None:
        """Wait until a script has made a file."""
        await until(path.exists, f"{path} is there; {self.said}")

    async def _settled(self, plan: str) -> bool:
        async with self.room.database.connection() as connection:
            query = "select count(*) from tasks where plan_id = $1 and status <> all($2)"
            return not await connection.fetchval(query, plan, list(FINISHED))


@asynccontextmanager
async def workshop(
    database: Database,
    tmp_path: Path,
    scripts: Mapping[str, str],
    *,
    lease: float = 60,
    files: Mapping[str, str] | None = None,
    runners: Mapping[str, AgentRunner] | None = None,
) -> AsyncIterator[Workshop]:
    repository = new_repository(tmp_path / "repository", **(files or {}))
    agent = ShellAgent(scripts)
    said: list[str] = []
    ended: list[Ended] = []
    async with control_room(database, lease=lease) as room:
        equipment = Equipment(
            control_plane=room.control_plane,
            address="http://localhost",
            worker=WORKER,
            plan="p",
            runners=runners or {agent.name: agent},
            workspaces=tmp_path / "workspaces",
            state=tmp_path / "state",
            environment=os.environ,
            heartbeat_seconds=1,
            tell=said.append,
            ended=ended.append,
        )
        yield Workshop(room, repository, equipment, agent, said, ended)
