"""A control plane inside the process of a command, and the way to it for that command's worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx2
from starlette.applications import Starlette

from whilly.client.connect import in_process
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.register_worker import register_worker, sign_off_worker
from whilly.operations.revoke_token import revoke_token
from whilly.server.app import create_inner_app
from whilly.server.engine import Engine, Timing
from whilly.server.loops.mirror import Mirror
from whilly.store.database import Database
from whilly.wire.work import Registration

TOKEN_LIFETIME = timedelta(days=30)
"""Ends with the command; this is for commands that are killed."""


@dataclass(frozen=True, slots=True)
class ControlPlaneHere:
    """A control plane that runs in this process."""

    app: Starlette
    http: httpx2.AsyncClient
    """Speaks as the worker that it was started for: give it to `client.control_plane.ControlPlane`."""

    @property
    def engine(self) -> Engine:
        """For whatever this process changes past the routes: call `engine.freed(plan)` after it."""
        engine: Engine = self.app.state.engine
        return engine


@asynccontextmanager
async def control_plane_here(
    database: Database,
    worker: str,
    registration: Registration,
    *,
    plan: str | None = None,
    timing: Timing | None = None,
    mirror: Mirror | None = None,
) -> AsyncIterator[ControlPlaneHere]:
    """Run a control plane and enter a worker that claims tasks of `plan` (None: of any).

    It may speak about all plans: the reports that it still owes are of any. `mirror` is kept up to date meanwhile.
    """
    app = create_inner_app(database, timing=timing, mirror=mirror)
    async with app.router.lifespan_context(app):
        await register_worker(database, worker, registration, plan=plan)
        token = await issue_token(
            database, TokenKind.WORKER, worker=worker, label=registration.hostname, lifetime=TOKEN_LIFETIME
        )
        try:
            async with in_process(app, token.bearer) as http:
                yield ControlPlaneHere(app, http)
        finally:
            await sign_off_worker(database, worker)
            await revoke_token(database, token.id)
