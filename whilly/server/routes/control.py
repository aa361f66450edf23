"""Pause and resume."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.pause import pause, resume, system_paused
from whilly.server.auth import PEOPLE, admit_to_plan
from whilly.server.bodies import NOTHING, answer, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.route import Route
from whilly.wire.log import PauseTold
from whilly.wire.steering import PauseRequest


async def control(request: Request) -> Response:
    """Whether tasks are handed out at all. Plans may be paused by themselves, besides."""
    reason = await system_paused(engine_of(request).database)
    return answer(PauseTold(reason is not None, reason))


async def pause_all_or_one(request: Request) -> Response:
    """Hand out no more tasks, of a plan or of all. What runs goes on."""
    asked, engine = await read(request, PauseRequest), engine_of(request)
    admit_to_plan(caller_of(request), asked.plan)
    await pause(engine.database, asked.plan, asked.reason, caller_of(request).name)
    engine.wrote()
    return NOTHING


async def resume_all_or_one(request: Request) -> Response:
    """Hand out tasks again."""
    asked, engine = await read(request, PauseRequest), engine_of(request)
    admit_to_plan(caller_of(request), asked.plan)
    await resume(engine.database, asked.plan, caller_of(request).name)
    engine.freed(asked.plan)
    return NOTHING


ROUTES = (
    Route("GET", "/api/v1/control", control, PEOPLE, gives=PauseTold, minds_plan=True),
    Route("POST", "/api/v1/pause", pause_all_or_one, PEOPLE, body=PauseRequest, minds_plan=True),
    Route("POST", "/api/v1/resume", resume_all_or_one, PEOPLE, body=PauseRequest, minds_plan=True),
)
