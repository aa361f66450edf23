"""The log: page by page, and as it grows."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_events import end_of_log, events_after, verify_log
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import answer
from whilly.server.claims import disconnected
from whilly.server.engine import caller_of, engine_of
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.streams import EventStream
from whilly.server.told import told_event
from whilly.wire.log import EventPage, LogVerified

EVENT_STREAM = "text/event-stream"

AFTER = Number("after", "The position beyond which to begin.", 0)
LIMIT = Number("limit", "How many events at most.", 100, least=1, most=1_000)
PLAN = Word("plan", "Only the events of this plan.")
LAST_SEEN = Word("Last-Event-ID", "The position of the last event that was received.", place="header")


async def events(request: Request) -> Response:
    """Events beyond `after`, oldest first; `next` is what to ask for next."""
    after, limit = AFTER.of(request), LIMIT.of(request)
    page = await events_after(engine_of(request).database, after, _plan(request), limit)
    return answer(EventPage(tuple(told_event(event) for event in page), page[-1].position if page else after))


async def stream(request: Request) -> Response:
    """Events as they happen: `event` is the type, `id` the position. `Last-Event-ID` brings what was missed."""
    pieces = engine_of(request).live.stream(_plan(request), request.headers.get(LAST_SEEN.name))
    return EventStream(request, pieces)


async def changes(request: Request) -> Response:
    """For pages: `changed` whenever there is something new to see in a plan, or in any."""
    return EventStream(request, engine_of(request).live.nudges(_plan(request)))


async def verification(request: Request) -> Response:
    """Check the hash chain of the whole log: nothing was left out, changed or put in. Takes long when the log is."""
    database = engine_of(request).database
    checking = asyncio.ensure_future(verify_log(database))
    gone = asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait((checking, gone), return_when=asyncio.FIRST_COMPLETED)
        broken = checking.result() if checking.done() else None
    finally:
        checking.cancel()
        gone.cancel()
    return answer(LogVerified(broken is None, broken, await end_of_log(database)))


def _plan(request: Request) -> str | None:
    """The plan that was asked for, or the only one that the caller may see."""
    caller = caller_of(request)
    plan = PLAN.of(request) or caller.plan
    admit_to_plan(caller, plan)
    return plan


ROUTES = (
    Route("GET", "/api/v1/events", events, PEOPLE, gives=EventPage, query=(AFTER, LIMIT, PLAN), minds_plan=True),
    Route("GET", "/api/v1/events/verification", verification, PEOPLE, gives=LogVerified),
    Route("GET", "/events/stream", stream, KNOWN, query=(PLAN, LAST_SEEN), media=EVENT_STREAM, minds_plan=True),
    Route("GET", "/changes", changes, PEOPLE, query=(PLAN,), media=EVENT_STREAM, minds_plan=True),
)
