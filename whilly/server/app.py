"""The application: what is behind which address, and what goes on meanwhile. Only wires."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from starlette.applications import Starlette

from whilly.operations.keep_bundle import LARGEST_MB
from whilly.server.auth import NO_BEARERS, GivenBearers
from whilly.server.claims import Claims
from whilly.server.dashboard import pages
from whilly.server.dashboard.boards import Boards
from whilly.server.engine import Engine, Timing
from whilly.server.environment import database_of_environment, given_bearers, on_first_signal
from whilly.server.guard import Guard
from whilly.server.loops.mirror import Mirror
from whilly.server.loops.repeat import repeat
from whilly.server.probe import Probe
from whilly.server.published import PublishedName
from whilly.server.route import Route, mounted
from whilly.server.routes import (
    attempts,
    bundles,
    control,
    description,
    events,
    health,
    login,
    metrics,
    planfiles,
    plans,
    presence,
    registration,
    steering,
    tasks,
    tokens,
    work,
    workers,
)
from whilly.server.stack import Direct
from whilly.server.streams import StreamLimits
from whilly.store.database import Database

if TYPE_CHECKING:
    from fastapi import FastAPI

App = TypeVar("App", bound=Starlette)

ROUTES: tuple[Route, ...] = (
    *work.ROUTES,
    *presence.ROUTES,
    *workers.ROUTES,
    *registration.ROUTES,
    *tokens.ROUTES,
    *plans.ROUTES,
    *planfiles.ROUTES,
    *tasks.ROUTES,
    *attempts.ROUTES,
    *bundles.ROUTES,
    *steering.ROUTES,
    *control.ROUTES,
    *events.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
    *login.ROUTES,
    *description.ROUTES,
    *pages.ROUTES,
)
"""Every way in, each with who may take it."""

CLOSING_SECONDS = 2.0
"""How long the last things may take: together with the requests' own time it stays below ten seconds."""


def create_app(
    database: Database | None = None,
    *,
    timing: Timing | None = None,
    hosts: Iterable[str] = (),
    bearers: GivenBearers = NO_BEARERS,
    mirror: Mirror | None = None,
) -> "FastAPI":
    """The control plane on an open database. `hosts`: names it answers to besides those of the loopback.

    Without a database it is the one that the environment names, opened when the application starts; so a server of
    your choice can run it: `uvicorn --factory whilly.server.app:create_app`. The other settings are then the
    environment's as well.

    `bearers` are good beside the tokens in the database. `mirror` is kept up to date as long as the application runs.
    """
    from whilly.server.framework import Described

    app = Described(ROUTES, _lifespan_of_environment if database is None else _lifespan)
    if database is None:
        return app
    return wired(app, database, timing=timing, hosts=hosts, bearers=bearers, mirror=mirror)


def create_inner_app(database: Database, *, timing: Timing | None = None, mirror: Mirror | None = None) -> Starlette:
    """The same for a command that runs it in its own process, and so without the import of FastAPI (0.13 s)."""
    return wired(Starlette(lifespan=_lifespan), database, timing=timing, mirror=mirror)


def wired(
    app: App,
    database: Database,
    *,
    timing: Timing | None = None,
    hosts: Iterable[str] = (),
    bearers: GivenBearers = NO_BEARERS,
    mirror: Mirror | None = None,
) -> App:
    """Put the control plane into an application."""
    engine = Engine(database, timing or Timing(), bearers=bearers, mirror=mirror)
    app.state.engine = engine
    app.state.routes = ROUTES
    app.state.description = None
    app.state.probe = Probe(database)
    app.state.claims = Claims(engine)
    app.state.streams = StreamLimits()
    app.state.boards = Boards(database)
    app.state.largest_bundle = LARGEST_MB * 2**20
    app.router.redirect_slashes = False
    app.router.routes.extend(mounted(ROUTES, engine.access, pages.stranger, engine.timings.request))
    app.middleware_stack = Guard(Direct(app.router), hosts, PublishedName(database).is_it)
    return app


@asynccontextmanager
async def _lifespan_of_environment(app: Starlette) -> AsyncIterator[None]:
    async with database_of_environment() as (database, settings, mirror):
        names = settings.allowed_hosts
        wired(app, database, hosts=names, bearers=given_bearers(settings), mirror=mirror)
        app.state.largest_bundle = settings.bundle_limit_mb * 2**20
        with on_first_signal(app.state.engine.close):
            async with _lifespan(app):
                yield


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """What goes on while the application runs, and its end within CLOSING_SECONDS."""
    engine: Engine = app.state.engine
    claims: Claims = app.state.claims
    loops = [
        asyncio.create_task(loop)
        for loop in (
            engine.sequencer.run(),
            engine.listener.run(),
            engine.live.run(),
            engine.orders.run(),
            repeat("looking for lost workers", engine.sweep, asyncio.sleep),
            repeat("noting who is here", engine.note_workers, asyncio.sleep),
            repeat("waking those who wait", engine.look_again, asyncio.sleep),
            repeat("adding up durations", engine.timings.save, asyncio.sleep),
            *([engine.mirror.run()] if engine.mirror is not None else []),
        )
    ]
    try:
        yield
    finally:
        engine.close()
        last = [asyncio.create_task(each) for each in (claims.settle(), engine.timings.close(), engine.end_mirror())]
        await asyncio.wait(last, timeout=CLOSING_SECONDS)
        for task in (*last, *loops):
            task.cancel()
        await asyncio.wait((*last, *loops), timeout=CLOSING_SECONDS / 4)
