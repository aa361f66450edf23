"""Plans: read them, create, start over, give them a budget, challenge them."""

import asyncio
from decimal import Decimal

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.money import Micros, from_usd, to_usd
from whilly.core.names import check_id, id_from
from whilly.core.triz import preflight
from whilly.operations.create_plan import create_plan
from whilly.operations.read_board import read_waiting
from whilly.operations.read_plans import export_plan, list_plans, plan_overview, plan_summary
from whilly.operations.read_task_page import read_task_page
from whilly.operations.reset_plan import reset_plan
from whilly.operations.set_budget import set_budget, set_daily_budget
from whilly.planfile.canonical import export_plan as written
from whilly.planfile.schema import json_schema
from whilly.server.auth import KNOWN, PEOPLE
from whilly.server.bodies import NOTHING, answer, large_answer, read
from whilly.server.cursor import CURSOR, cursor_after, place_of
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import Number
from whilly.server.route import Route
from whilly.server.told import told_overview, told_plan, told_summary, told_waiting
from whilly.wire.plans import (
    Created,
    NewPlan,
    PlanBudgetRequest,
    PlanList,
    PlanTold,
    PreflightTold,
    ResetAnswer,
    ResetRequest,
)
from whilly.wire.tasks import OverviewTold, WaitsList

LIMIT = Number("limit", "How many tasks at most.", 100, least=1, most=500)


async def plans(request: Request) -> Response:
    """All plans, newest first."""
    only = caller_of(request).plan
    found = await list_plans(engine_of(request).database)
    return answer(PlanList(tuple(told_summary(summary) for summary in found if only in (None, summary.id))))


async def create(request: Request) -> Response:
    """Create an empty plan, to be filled by an import."""
    asked, engine = await read(request, NewPlan), engine_of(request)
    if wrong := check_id(asked.id):
        instead = id_from(asked.id)
        remedy = f"Write {instead}." if instead else ""
        raise Denied(422, "malformed", f"{asked.id!a} cannot be a plan's id: it {wrong}.", remedy)
    if not asked.name.strip():
        raise Denied(422, "malformed", "The plan's name is empty; write what the plan is about.")
    await create_plan(engine.database, asked.id, asked.name, micros(asked.budget_usd))
    engine.wrote()
    return answer(Created(asked.id), 201)


async def plan(request: Request) -> Response:
    """One plan; its tasks are at `/api/v1/tasks?plan_id=…`."""
    found = await plan_overview(engine_of(request).database, request.path_params["plan"], [])
    return answer(told_plan(found.summary, found.plan))


async def overview(request: Request) -> Response:
    """The plan's tasks with their status and why they wait: pages as those of `/api/v1/tasks`, each in plan order."""
    database, plan, limit = engine_of(request).database, request.path_params["plan"], LIMIT.of(request)
    page = await read_task_page(database, plan, after=place_of(CURSOR.of(request)), limit=limit + 1)
    shown = page[:limit]
    found = await plan_overview(database, plan, [listed.task.id for listed in shown])
    return answer(told_overview(found, cursor_after(shown) if len(page) > limit else None))


async def export(request: Request) -> Response:
    """The plan as a canonical plan file. Importing it changes nothing."""
    found = await export_plan(engine_of(request).database, request.path_params["plan"])
    return Response(await asyncio.to_thread(written, found), media_type="application/json")


async def triz(request: Request) -> Response:
    """Challenge the plan as a whole: contradictions, conflicts, duplicates and weak tasks."""
    found = await export_plan(engine_of(request).database, request.path_params["plan"])
    return await large_answer(await asyncio.to_thread(lambda: preflight(found).as_json()))


async def waiting(request: Request) -> Response:
    """Tasks of the plan that wait for a person: for a decision, for an answer, or for help after a failure."""
    database, name = engine_of(request).database, request.path_params["plan"]
    await plan_summary(database, name)
    found = await read_waiting(database, name, LIMIT.of(request))
    return answer(WaitsList(tuple(told_waiting(name, each) for each in found)))


async def reset(request: Request) -> Response:
    """Put all tasks back to PENDING; history and costs are kept. `hard` deletes the plan instead."""
    asked, engine, name = await read(request, ResetRequest), engine_of(request), request.path_params["plan"]
    count = await reset_plan(engine.database, name, hard=asked.hard)
    engine.freed(name)
    return answer(ResetAnswer(count))


async def budget(request: Request) -> Response:
    """Set or lift what the plan may spend altogether, or per day, also while it runs."""
    asked, engine, name = await read(request, PlanBudgetRequest), engine_of(request), request.path_params["plan"]
    change = set_daily_budget if asked.daily else set_budget
    await change(engine.database, name, micros(asked.budget_usd), caller_of(request).name)
    engine.freed(name)
    return NOTHING


def micros(amount: Decimal | None) -> Micros | None:
    """Dollars that were sent, exactly. Raises Denied."""
    if amount is None:
        return None
    try:
        found = from_usd(amount)
    except ValueError:
        found = -1
    if found < 0 or to_usd(found) != amount:
        raise Denied(422, "malformed", "An amount is a number of US dollars from 0, with six decimals at most.")
    return found


_PLAN = "/api/v1/plans/{plan}"

ROUTES = (
    Route("GET", "/api/v1/plans", plans, PEOPLE, gives=PlanList, minds_plan=True),
    Route("POST", "/api/v1/plans", create, PEOPLE, body=NewPlan, gives=Created, status=201),
    Route("GET", _PLAN, plan, KNOWN, gives=PlanTold),
    Route("GET", f"{_PLAN}/overview", overview, PEOPLE, gives=OverviewTold, query=(LIMIT, CURSOR)),
    Route("GET", f"{_PLAN}/export", export, PEOPLE, gives=json_schema),
    Route("GET", f"{_PLAN}/triz", triz, PEOPLE, gives=PreflightTold),
    Route("GET", f"{_PLAN}/reviews", waiting, PEOPLE, gives=WaitsList, query=(LIMIT,)),
    Route("POST", f"{_PLAN}/reset", reset, PEOPLE, body=ResetRequest, gives=ResetAnswer),
    Route("PUT", f"{_PLAN}/budget", budget, PEOPLE, body=PlanBudgetRequest),
)
