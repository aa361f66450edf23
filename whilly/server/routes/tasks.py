"""The tasks of a plan, page by page."""

import base64
import binascii
import json

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.plan import Status
from whilly.operations.read_task_page import BEGINNING, Place, read_task_page
from whilly.server.auth import KNOWN, admit_to_plan
from whilly.server.bodies import answer
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import number, text
from whilly.server.route import Route
from whilly.server.told import told_listed

DEFAULT_LIMIT = 100
LARGEST_LIMIT = 500


async def tasks(request: Request) -> Response:
    """Tasks by priority and id. `next_cursor` leads to the next page, also when tasks were added meanwhile."""
    plan = text(request, "plan_id")
    if plan is None:
        raise Denied(400, "bad_plan_id", "Name a plan: `?plan_id=…`.")
    admit_to_plan(caller_of(request), plan)
    limit = number(request, "limit", DEFAULT_LIMIT, least=1, most=LARGEST_LIMIT)
    after = _place(text(request, "cursor"))
    status = _status(text(request, "status"))
    page = await read_task_page(engine_of(request).database, plan, status=status, after=after, limit=limit + 1)
    more = len(page) > limit
    page = page[:limit]
    cursor = cursor_of((page[-1].priority.value, page[-1].task.id)) if more else None
    return answer({"tasks": [told_listed(listed) for listed in page], "next_cursor": cursor})


def cursor_of(place: Place) -> str:
    """The place as clients carry it about."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _place(cursor: str | None) -> Place:
    if cursor is None:
        return BEGINNING
    try:
        decoded = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        decoded = None
    match decoded:
        case [int(priority), str(task)] if 0 <= priority <= 3 and "\0" not in task and task.isascii():
            return priority, task
        case _:
            raise Denied(400, "bad_cursor", "This cursor is not one of ours; start again without it.")


def _status(word: str | None) -> Status | None:
    if word is None:
        return None
    try:
        return Status(word)
    except ValueError:
        known = ", ".join(status.value for status in Status)
        raise Denied(400, "bad_status", f"A status is one of {known}.") from None


ROUTES = (Route("GET", "/api/v1/tasks", tasks, KNOWN, gives=dict),)
