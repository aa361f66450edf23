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
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.told import told_listed
from whilly.wire.tasks import TaskList

PLAN = Word("plan_id", "The plan.", required=True)
STATUS = Word("status", "Only tasks of this status.", choices=tuple(status.value for status in Status))
LIMIT = Number("limit", "How many tasks at most.", 100, least=1, most=500)
CURSOR = Word("cursor", "`next_cursor` of the page before.")


async def tasks(request: Request) -> Response:
    """Tasks by priority and id. `next_cursor` leads to the next page, also when tasks were added meanwhile."""
    plan = PLAN.needed(request)
    admit_to_plan(caller_of(request), plan)
    limit, after, status = LIMIT.of(request), _place(CURSOR.of(request)), STATUS.of(request)
    page = await read_task_page(
        engine_of(request).database, plan, status=Status(status) if status else None, after=after, limit=limit + 1
    )
    more = len(page) > limit
    page = page[:limit]
    cursor = cursor_of((page[-1].priority.value, page[-1].task.id)) if more else None
    return answer(TaskList(tuple(told_listed(listed) for listed in page), cursor))


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


ROUTES = (Route("GET", "/api/v1/tasks", tasks, KNOWN, gives=TaskList, query=(PLAN, STATUS, LIMIT, CURSOR)),)
