"""Tasks: page by page, one by itself, and why it is where it is."""

import base64
import binascii
import json

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.plan import Status
from whilly.operations.read_attempts import task_detail
from whilly.operations.read_plans import task_view
from whilly.operations.read_task_page import BEGINNING, Place, read_task_page
from whilly.operations.set_budget import set_task_budget
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import NOTHING, answer, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.routes.plans import micros
from whilly.server.told import told_listed, told_task, told_why
from whilly.wire.plans import BudgetRequest
from whilly.wire.tasks import TaskList, TaskTold, WhyTold

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


async def task(request: Request) -> Response:
    """One task with all its attempts."""
    path = request.path_params
    return answer(told_task(await task_detail(engine_of(request).database, path["plan"], path["task"])))


async def why(request: Request) -> Response:
    """Why a task is where it is, and what would change it."""
    path = request.path_params
    view = await task_view(engine_of(request).database, path["plan"], path["task"])
    return answer(told_why(view.why))


async def budget(request: Request) -> Response:
    """Set or lift what all attempts of the task together may spend."""
    asked, engine, path = await read(request, BudgetRequest), engine_of(request), request.path_params
    await set_task_budget(engine.database, path["plan"], path["task"], micros(asked.budget_usd))
    engine.freed(path["plan"])
    return NOTHING


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


_TASK = "/api/v1/plans/{plan}/tasks/{task}"

ROUTES = (
    Route("GET", "/api/v1/tasks", tasks, KNOWN, gives=TaskList, query=(PLAN, STATUS, LIMIT, CURSOR), minds_plan=True),
    Route("GET", _TASK, task, PEOPLE, gives=TaskTold),
    Route("GET", f"{_TASK}/why", why, PEOPLE, gives=WhyTold),
    Route("PUT", f"{_TASK}/budget", budget, PEOPLE, body=BudgetRequest),
)
