"""The log: page by page, and as it grows."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_events import events_after
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import answer
from whilly.server.engine import caller_of, engine_of
from whilly.server.query import number, text
from whilly.server.route import Route
from whilly.server.streams import EventStream
from whilly.server.told import told_event

DEFAULT_LIMIT = 100
LARGEST_LIMIT = 1_000


async def events(request: Request) -> Response:
    """Events beyond `after`, oldest first; `next` is what to ask for next."""
    after = number(request, "after", 0)
    limit = number(request, "limit", DEFAULT_LIMIT, least=1, most=LARGEST_LIMIT)
    page = await events_after(engine_of(request).database, after, text(request, "plan"), limit)
    return answer({"events": [told_event(event) for event in page], "next": page[-1].position if page else after})


async def stream(request: Request) -> Response:
    """Events as they happen: `event` is the type, `id` the position. `Last-Event-ID` brings what was missed."""
    caller, engine = caller_of(request), engine_of(request)
    plan = text(request, "plan") or caller.plan
    if plan is not None:
        admit_to_plan(caller, plan)
    pieces = engine.live.stream(plan, request.headers.get("last-event-id"))
    return EventStream(request, pieces)


async def changes(request: Request) -> Response:
    """For pages: `changed` whenever there is something new to see in a plan, or in any."""
    return EventStream(request, engine_of(request).live.nudges(text(request, "plan")))


ROUTES = (
    Route("GET", "/api/v1/events", events, PEOPLE, gives=dict),
    Route("GET", "/events/stream", stream, KNOWN),
    Route("GET", "/changes", changes, PEOPLE),
)
