"""Pause and resume."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.pause import pause, resume
from whilly.server.auth import PEOPLE
from whilly.server.bodies import NOTHING, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.route import Route
from whilly.wire.steering import PauseRequest


async def pause_all_or_one(request: Request) -> Response:
    """Hand out no more tasks, of a plan or of all. What runs goes on."""
    asked, engine = await read(request, PauseRequest), engine_of(request)
    await pause(engine.database, asked.plan, asked.reason, caller_of(request).name)
    engine.wrote()
    return NOTHING


async def resume_all_or_one(request: Request) -> Response:
    """Hand out tasks again."""
    asked, engine = await read(request, PauseRequest), engine_of(request)
    await resume(engine.database, asked.plan, caller_of(request).name)
    engine.freed(asked.plan)
    return NOTHING


ROUTES = (
    Route("POST", "/api/v1/pause", pause_all_or_one, PEOPLE, body=PauseRequest),
    Route("POST", "/api/v1/resume", resume_all_or_one, PEOPLE, body=PauseRequest),
)
