"""The real control plane in this process, with a network to it that can break, and a look into its books."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from tests.worker.network import Network
from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import Plan
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.set_repository import set_repository
from whilly.server.app import create_app
from whilly.server.engine import Timing
from whilly.store.database import Database
from whilly.wire.protocol import HEADER, VERSION

WORKER = "laptop"


@dataclass
class ControlRoom:
    database: Database
    network: Network
    control_plane: ControlPlane
    app: FastAPI

    async def submit(self, plan: Plan, repository: Path | None = None) -> None:
        await import_plan(self.database, plan)
        if repository:
            await set_repository(self.database, plan.id, str(repository))

    async def task(self, task: str, plan: str = "p") -> dict[str, Any]:
        """The row of a task."""
        return (await self._rows("select * from tasks where plan_id = $1 and id = $2", plan, task))[0]

    async def attempts(self, task: str, plan: str = "p") -> list[dict[str, Any]]:
        """The rows of a task's attempts, oldest first."""
        return await self._rows("select * from attempts where plan_id = $1 and task_id = $2 order by epoch", plan, task)

    async def events(self, task: str, plan: str = "p") -> list[tuple[str, dict[str, Any]]]:
        """What the log has about a task: types and payloads, in order."""
        rows = await self._rows("select * from events where plan_id = $1 and task_id = $2 order by id", plan, task)
        return [(row["type"], json.loads(row["payload"])) for row in rows]

    async def told(self, task: str, plan: str = "p") -> list[str]:
        """The types of its events."""
        return [kind for kind, _ in await self.events(task, plan)]

    async def transcript(self, task: str, epoch: int = 1, plan: str = "p") -> str:
        """All that the agent printed."""
        query = "select text from transcripts where plan_id = $1 and task_id = $2 and epoch = $3 order by number"
        return "".join(row["text"] for row in await self._rows(query, plan, task, epoch))

    async def _rows(self, query: str, *arguments: object) -> list[dict[str, Any]]:
        async with self.database.connection() as connection:
            return [dict(row) for row in await connection.fetch(query, *arguments)]


@asynccontextmanager
async def control_room(database: Database, *, lease: float = 60) -> AsyncIterator[ControlRoom]:
    """A control plane that runs, and one worker's way to it."""
    app = create_app(database, timing=Timing(lease=lease))
    token = await issue_token(database, TokenKind.WORKER, worker=WORKER)
    network = Network(httpx2.ASGITransport(app, raise_app_exceptions=False))
    headers = {"Authorization": f"Bearer {token.bearer}", HEADER: str(VERSION)}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=network, base_url="http://localhost", headers=headers) as http,
    ):
        yield ControlRoom(database, network, ControlPlane(http, back_off=BackOff(0.01, 0.1)), app)
