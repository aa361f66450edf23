"""The application: what is behind which address, and what goes on meanwhile. Only wires."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whilly import __version__
from whilly.server.claims import Claims
from whilly.server.dashboard import pages
from whilly.server.engine import Engine, Timing
from whilly.server.errors import answer_to
from whilly.server.guard import Guard
from whilly.server.loops.repeat import repeat
from whilly.server.route import Route, mounted
from whilly.server.routes import control, events, health, login, plans, steering, tasks, work
from whilly.server.streams import StreamLimits
from whilly.store.database import Database

ROUTES: tuple[Route, ...] = (
    *work.ROUTES,
    *plans.ROUTES,
    *tasks.ROUTES,
    *steering.ROUTES,
    *control.ROUTES,
    *events.ROUTES,
    *health.ROUTES,
    *login.ROUTES,
    *pages.ROUTES,
)
"""Every way in, each with who may take it."""

CLOSING_SECONDS = 10.0


def create_app(database: Database, *, timing: Timing | None = None, hosts: Iterable[str] = ()) -> FastAPI:
    """The control plane on an open database. `hosts`: names it answers to besides those of the loopback."""
    engine = Engine(database, timing or Timing())
    claims = Claims(engine)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        loops = [
            asyncio.create_task(engine.sequencer.run()),
            asyncio.create_task(engine.listener.run()),
            asyncio.create_task(engine.live.run()),
            asyncio.create_task(repeat("looking for lost workers", engine.sweep, asyncio.sleep)),
            asyncio.create_task(repeat("noting who is here", engine.note_workers, asyncio.sleep)),
            asyncio.create_task(repeat("waking those who wait", engine.look_again, asyncio.sleep)),
        ]
        try:
            yield
        finally:
            engine.close()
            await asyncio.wait([asyncio.create_task(claims.settle())], timeout=CLOSING_SECONDS / 2)
            for loop in loops:
                loop.cancel()
            await asyncio.wait(loops, timeout=CLOSING_SECONDS / 2)

    app = FastAPI(
        title="Whilly",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.engine = engine
    app.state.claims = claims
    app.state.streams = StreamLimits()
    app.router.routes.extend(mounted(ROUTES, engine.access, pages.stranger))
    app.add_exception_handler(HTTPException, _no_such_way_in)
    app.add_middleware(Guard, hosts=tuple(hosts))
    return app


async def _no_such_way_in(_request: Request, error: Exception) -> Response:
    return answer_to(error)
