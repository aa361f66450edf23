"""Tasks: page by page, one by itself, and why it is where it is."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.plan import Status
from whilly.operations.read_attempts import task_detail
from whilly.operations.read_plans import task_view
from whilly.operations.read_task_page import read_task_page
from whilly.operations.set_budget import set_task_budget
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import NOTHING, answer, read
from whilly.server.cursor import CURSOR, cursor_after, place_of
from whilly.server.engine import caller_of, engine_of
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.routes.plans import micros
from whilly.server.told import told_listed, told_task, told_why
from whilly.wire.plans import BudgetRequest
from whilly.wire.tasks import TaskList, TaskTold, WhyTold

PLAN = Word("plan_id", "The plan.", required=True)
STATUS = Word("status", "Only tasks of this status.", choices=tuple(status.value for status in Status))
LIMIT = Number("limit", "How many tasks at most.", 100, least=1, most=500)


async def tasks(request: Request) -> Response:
    """Tasks by priority and id. `next_cursor` leads to the next page, also when tasks were added meanwhile."""
    plan = PLAN.needed(request)
    admit_to_plan(caller_of(request), plan)
    limit, after, status = LIMIT.of(request), place_of(CURSOR.of(request)), STATUS.of(request)
    page = await read_task_page(
        engine_of(request).database, plan, status=Status(status) if status else None, after=after, limit=limit + 1
    )
    shown = page[:limit]
    cursor = cursor_after(shown) if len(page) > limit else None
    return answer(TaskList(tuple(told_listed(listed) for listed in shown), cursor))


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


_TASK = "/api/v1/plans/{plan}/tasks/{task}"

ROUTES = (
    Route("GET", "/api/v1/tasks", tasks, KNOWN, gives=TaskList, query=(PLAN, STATUS, LIMIT, CURSOR), minds_plan=True),
    Route("GET", _TASK, task, PEOPLE, gives=TaskTold),
    Route("GET", f"{_TASK}/why", why, PEOPLE, gives=WhyTold),
    Route("PUT", f"{_TASK}/budget", budget, PEOPLE, body=BudgetRequest),
)
