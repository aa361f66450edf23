"""The log: page by page, and as it grows."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_events import events_after
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import answer
from whilly.server.engine import caller_of, engine_of
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.streams import EventStream
from whilly.server.told import told_event
from whilly.wire.log import EventPage

EVENT_STREAM = "text/event-stream"

AFTER = Number("after", "The position beyond which to begin.", 0)
LIMIT = Number("limit", "How many events at most.", 100, least=1, most=1_000)
PLAN = Word("plan", "Only the events of this plan.")
LAST_SEEN = Word("Last-Event-ID", "The position of the last event that was received.", place="header")


async def events(request: Request) -> Response:
    """Events beyond `after`, oldest first; `next` is what to ask for next."""
    after, limit = AFTER.of(request), LIMIT.of(request)
    page = await events_after(engine_of(request).database, after, PLAN.of(request), limit)
    return answer(EventPage(tuple(told_event(event) for event in page), page[-1].position if page else after))


async def stream(request: Request) -> Response:
    """Events as they happen: `event` is the type, `id` the position. `Last-Event-ID` brings what was missed."""
    caller, engine = caller_of(request), engine_of(request)
    plan = PLAN.of(request) or caller.plan
    if plan is not None:
        admit_to_plan(caller, plan)
    pieces = engine.live.stream(plan, LAST_SEEN.of(request))
    return EventStream(request, pieces)


async def changes(request: Request) -> Response:
    """For pages: `changed` whenever there is something new to see in a plan, or in any."""
    return EventStream(request, engine_of(request).live.nudges(PLAN.of(request)))


ROUTES = (
    Route("GET", "/api/v1/events", events, PEOPLE, gives=EventPage, query=(AFTER, LIMIT, PLAN)),
    Route("GET", "/events/stream", stream, KNOWN, query=(PLAN, LAST_SEEN), media=EVENT_STREAM),
    Route("GET", "/changes", changes, PEOPLE, query=(PLAN,), media=EVENT_STREAM),
)
