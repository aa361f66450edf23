"""The real application on a real database, and everybody who may call it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from fastapi import FastAPI

from whilly.client.connect import in_process
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import Plan, TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.log_in import issue_login
from whilly.server.app import create_app
from whilly.server.auth import NO_BEARERS, GivenBearers
from whilly.server.engine import Engine, Timing
from whilly.store.database import Database


@dataclass
class Server:
    """One running control plane."""

    app: FastAPI
    database: Database

    @property
    def engine(self) -> Engine:
        engine: Engine = self.app.state.engine
        return engine

    async def worker(self, name: str = "w-1", plan: str | None = None) -> httpx2.AsyncClient:
        issued = await issue_token(self.database, TokenKind.WORKER, worker=name, plan=plan)
        return in_process(self.app, issued.bearer)

    async def operator(self) -> httpx2.AsyncClient:
        issued = await issue_token(self.database, TokenKind.OPERATOR, label="olga")
        return in_process(self.app, issued.bearer)

    async def scraper(self) -> httpx2.AsyncClient:
        issued = await issue_token(self.database, TokenKind.METRICS, label="prometheus")
        return in_process(self.app, issued.bearer)

    def nobody(self) -> httpx2.AsyncClient:
        return in_process(self.app)

    async def session(self) -> httpx2.AsyncClient:
        """A browser that came by a one-time link. It says where its requests come from, as browsers do."""
        http = in_process(self.app)
        answer = await http.get(f"/login/{await issue_login(self.database, 'ada')}")
        assert answer.status_code == 200, answer.text
        http.headers["Sec-Fetch-Site"] = "same-origin"
        return http

    async def control_plane(self, name: str = "w-1") -> ControlPlane:
        return ControlPlane(await self.worker(name))

    async def store(self, plan: str, *tasks: TaskSpec, project: str = "A plan") -> None:
        await import_plan(self.database, Plan(plan, project, tasks))
        self.engine.freed(plan)

    async def numbered(self) -> None:
        """Until every event has its position."""

        async def none_left() -> bool:
            async with self.database.connection() as connection:
                return not await connection.fetchval("select exists (select from events_pending)")

        self.engine.wrote()
        await eventually(none_left)


@asynccontextmanager
async def running_server(
    database: Database,
    timing: Timing | None = None,
    metrics_token: str | None = None,
    bearers: GivenBearers = NO_BEARERS,
) -> AsyncIterator[Server]:
    """The application with its loops."""
    app = create_app(database, timing=timing, bearers=GivenBearers(metrics_token) if metrics_token else bearers)
    async with app.router.lifespan_context(app):
        yield Server(app, database)


async def eventually(true: Callable[[], Awaitable[object]], seconds: float = 10) -> None:
    """Wait for a fact."""
    async with asyncio.timeout(seconds):
        while not await true():  # noqa: ASYNC110 - the fact is in the database, where nothing calls back
            await asyncio.sleep(0.003)
