"""Is it alive, is it ready, and how much waits."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.server.auth import EVERYBODY
from whilly.server.bodies import answer
from whilly.server.engine import engine_of
from whilly.server.probe import Probe
from whilly.server.route import Route
from whilly.wire.health import Alive, Health, Unhealthy

UNREADY = {503: "It cannot work at the moment."}


async def live(_request: Request) -> Response:
    """The process answers; that is all this says."""
    return answer(Alive("ok"))


async def ready(request: Request) -> Response:
    """200 when it can work, 503 when the database or the listener is away."""
    return await _health(request)


async def health(request: Request) -> Response:
    """As `ready`. It tells what probes ask for and nothing else: no names, no versions."""
    return await _health(request)


async def _health(request: Request) -> Response:
    probe: Probe = request.app.state.probe
    depth, listening = await probe.queue_depth(), engine_of(request).listener.connected
    if depth is not None and listening:
        return answer(Health("ok", True, True, depth))
    detail = "Hints from the database do not arrive; changes are seen within a second all the same."
    if depth is None:
        detail = "The database cannot be asked at the moment."
    return answer(Unhealthy("unavailable", depth is not None, listening, depth or 0, detail), 503)


ROUTES = (
    Route("GET", "/health/live", live, EVERYBODY, gives=Alive, vital=True),
    Route("GET", "/health/ready", ready, EVERYBODY, gives=Health | Unhealthy, vital=True, also=UNREADY),
    Route("GET", "/health", health, EVERYBODY, gives=Health | Unhealthy, vital=True, also=UNREADY),
)
