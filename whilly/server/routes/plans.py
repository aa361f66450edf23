"""Plans and single tasks, as programs read them."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_attempts import task_detail, transcript
from whilly.operations.read_plans import list_plans, plan_overview, task_view
from whilly.server.auth import KNOWN, PEOPLE, admit_to_plan
from whilly.server.bodies import answer
from whilly.server.engine import caller_of, engine_of
from whilly.server.route import Route
from whilly.server.told import told_plan, told_summary, told_task, told_why
from whilly.wire.plans import PlanList, PlanTold
from whilly.wire.tasks import TaskTold, WhyTold


async def plans(request: Request) -> Response:
    """All plans, newest first."""
    found = await list_plans(engine_of(request).database)
    return answer(PlanList(tuple(told_summary(summary) for summary in found)))


async def plan(request: Request) -> Response:
    """One plan; its tasks are at `/api/v1/tasks?plan_id=…`."""
    name = request.path_params["plan"]
    admit_to_plan(caller_of(request), name)
    overview = await plan_overview(engine_of(request).database, name, [])
    return answer(told_plan(overview.summary, overview.plan))


async def task(request: Request) -> Response:
    """One task with all its attempts."""
    path = request.path_params
    detail = await task_detail(engine_of(request).database, path["plan"], path["task"])
    return answer(told_task(detail))


async def why(request: Request) -> Response:
    """Why a task is where it is, and what would change it."""
    path = request.path_params
    view = await task_view(engine_of(request).database, path["plan"], path["task"])
    return answer(told_why(view.why))


async def attempt_transcript(request: Request) -> Response:
    """What the agent printed in an attempt, as text."""
    path = request.path_params
    epoch = min(path["epoch"], 2**31 - 1)
    said = await transcript(engine_of(request).database, path["plan"], path["task"], epoch)
    return Response(said.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")


_TASK = "/api/v1/plans/{plan}/tasks/{task}"

ROUTES = (
    Route("GET", "/api/v1/plans", plans, PEOPLE, gives=PlanList),
    Route("GET", "/api/v1/plans/{plan}", plan, KNOWN, gives=PlanTold),
    Route("GET", _TASK, task, PEOPLE, gives=TaskTold),
    Route("GET", f"{_TASK}/why", why, PEOPLE, gives=WhyTold),
    Route("GET", f"{_TASK}/attempts/{{epoch:int}}/transcript", attempt_transcript, PEOPLE, media="text/plain"),
)
