"""The worker's side of the API. Each request may be repeated without harm."""

import re
import time

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.evidence import Report
from whilly.operations.append_events import append_events, append_transcript
from whilly.operations.finish_attempts import release_attempt
from whilly.server.auth import HOLDERS, WORKERS, admit_to_plan
from whilly.server.bodies import LARGEST, LARGEST_LOG, NOTHING, answer, read
from whilly.server.claims import Claims
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.rates import retry_after
from whilly.server.route import Route
from whilly.wire.work import (
    AttemptEvent,
    ClaimRequest,
    FinishAnswer,
    Heartbeat,
    HeartbeatAnswer,
    Release,
    Start,
    TranscriptChunk,
)

EVENT_WEIGHT = 20
"""Events are small and many: what is kept with each is many times its size."""

RELEASE_WEIGHT = 1_000
"""Giving a task back is a small request that stores much, and is seldom done."""

_EVENT_TYPE = re.compile(r"[a-z0-9_.-]{1,64}", re.IGNORECASE)


async def claim(request: Request) -> Response:
    """A task to work on: 200, or 204 when there was none for as long as the request wanted to wait."""
    caller, asked = caller_of(request), await read(request, ClaimRequest)
    admit_to_plan(caller, asked.plan)
    engine_of(request).is_here(caller.name)
    claims: Claims = request.app.state.claims
    began = time.monotonic()
    assignment = await claims.claim(caller.name, asked, request.receive)
    engine_of(request).timings.long_poll(time.monotonic() - began)
    if assignment is None:
        return NOTHING
    return answer(await engine_of(request).claim_tokens.handed_out(assignment, caller.name))


async def start(request: Request) -> Response:
    """The workspace is ready and the agent is about to run."""
    key = await _own_attempt(request)
    await engine_of(request).starts.submit((key, await read(request, Start)))
    return NOTHING


async def heartbeat(request: Request) -> Response:
    """A sign of life; the answer says what is wanted of the attempt."""
    key = await _own_attempt(request)
    engine, worker = engine_of(request), caller_of(request).name
    engine.is_here(worker)
    told = await engine.beats.submit((key, await read(request, Heartbeat)))
    engine.holdings.take(worker, key)
    return answer(told)


async def events(request: Request) -> Response:
    """Append to the log what happened inside the attempt."""
    key = await _own_attempt(request)
    _allow_storing(request, LARGEST, EVENT_WEIGHT)
    told = await read(request, list[AttemptEvent])
    for event in told:
        if not _EVENT_TYPE.fullmatch(event.type):
            raise Denied(422, "malformed", "The type of an event is letters, digits, dots, dashes and underscores.")
    engine = engine_of(request)
    await append_events(engine.database, key, told)
    engine.wrote()
    return NOTHING


async def transcript(request: Request) -> Response:
    """Append to the attempt's transcript; pieces that are already there are ignored."""
    key, engine = _attempt(request), engine_of(request)
    if not await engine.ownership.check(caller_of(request), key):
        raise Denied(404, "unknown_attempt", f"Task {key.task} has no attempt {key.epoch}.")
    _allow_storing(request, LARGEST_LOG)
    await append_transcript(engine.database, key, await read(request, list[TranscriptChunk], LARGEST_LOG))
    return NOTHING


async def finish(request: Request) -> Response:
    """The evidence of an ended attempt; the answer is the verdict."""
    key, engine = await _own_attempt(request), engine_of(request)
    told = await engine.finishes.submit((key, await read(request, Report, LARGEST_LOG)))
    engine.holdings.end(caller_of(request).name, key)
    return answer(told)


async def release(request: Request) -> Response:
    """Give the task back without a result."""
    key, engine = await _own_attempt(request), engine_of(request)
    _allow_storing(request, LARGEST, RELEASE_WEIGHT, "releases of ")
    verdict = await release_attempt(engine.database.vital, key, await read(request, Release))
    engine.holdings.end(caller_of(request).name, key)
    engine.freed(key.plan)
    return answer(verdict)


def _allow_storing(request: Request, largest: int, weight: float = 1, what: str = "") -> None:
    """Raise Denied when this worker has had too much stored lately."""
    announced = request.headers.get("content-length", "")
    size = int(announced) if announced.isdecimal() and len(announced) < 20 else largest
    if seconds := engine_of(request).storing.take(what + caller_of(request).name, min(size, largest) * weight):
        raise Denied(429, "too_much", "This worker sends more than is stored at once.", "Wait.", retry_after(seconds))


async def _own_attempt(request: Request) -> AttemptKey:
    """The attempt that the address names. One that never was is left to the operation to refuse."""
    key = _attempt(request)
    await engine_of(request).ownership.check(caller_of(request), key)
    return key


def _attempt(request: Request) -> AttemptKey:
    path = request.path_params
    return AttemptKey(path["plan"], path["task"], min(path["epoch"], 2**31 - 1))


_PATH = "/api/v1/plans/{plan}/tasks/{task}/attempts/{epoch:int}"

ROUTES = (
    Route(
        "POST", "/api/v1/claim", claim, WORKERS, body=ClaimRequest, gives=Assignment, or_nothing=True, minds_plan=True
    ),
    Route("POST", f"{_PATH}/start", start, HOLDERS, body=Start, vital=True),
    Route("POST", f"{_PATH}/heartbeat", heartbeat, HOLDERS, body=Heartbeat, gives=HeartbeatAnswer, vital=True),
    Route("POST", f"{_PATH}/events", events, HOLDERS, body=list[AttemptEvent]),
    Route("POST", f"{_PATH}/transcript", transcript, HOLDERS, body=list[TranscriptChunk]),
    Route("POST", f"{_PATH}/finish", finish, HOLDERS, body=Report, gives=FinishAnswer, vital=True),
    Route("POST", f"{_PATH}/release", release, HOLDERS, body=Release, gives=FinishAnswer, vital=True),
)
