"""Is it alive, is it ready, and how much waits."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from whilly.server.auth import EVERYBODY
from whilly.server.bodies import answer
from whilly.server.engine import engine_of
from whilly.server.route import Route
from whilly.store.database import AWAY
from whilly.wire.health import Alive, Health

PROBE_LIMIT = 2.0
UNREADY = {503: "It cannot work at the moment."}


async def live(_request: Request) -> Response:
    """The process answers; that is all this says."""
    return answer(Alive("ok"))


async def ready(request: Request) -> Response:
    """200 when it can work, 503 when the database or the listener is away."""
    return await _health(request)


async def health(request: Request) -> Response:
    """As `ready`. The details are for those who may see all plans; a probe without a token gets the status alone."""
    return await _health(request)


async def _health(request: Request) -> Response:
    engine = engine_of(request)
    depth, caller = None, None
    try:
        async with asyncio.timeout(PROBE_LIMIT):
            depth = (await engine.database.vital.fetch("queue_depth"))[0]["depth"]
            caller = await engine.access.caller(request)
    except AWAY:
        depth = None
    fine = depth is not None and engine.listener.connected
    status = "ok" if fine else "unavailable"
    told: Alive = Alive(status)
    if caller is not None and caller.plan is None:
        told = Health(status, depth is not None, engine.listener.connected, depth or 0)
    return answer(told, 200 if fine else 503)


ROUTES = (
    Route("GET", "/health/live", live, EVERYBODY, gives=Alive, vital=True),
    Route("GET", "/health/ready", ready, EVERYBODY, gives=Health, vital=True, also=UNREADY),
    Route("GET", "/health", health, EVERYBODY, gives=Health, vital=True, also=UNREADY),
)
