"""Plan files: the body is the file itself, as it would be given to `whilly plan import`."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.plan import Plan
from whilly.operations.apply_plan import apply_plan
from whilly.operations.import_plan import import_plan
from whilly.planfile.limits import Limits
from whilly.planfile.problems import Problem as Fault
from whilly.planfile.reader import read_plan
from whilly.planfile.schema import json_schema
from whilly.server.auth import PEOPLE, admit_to_plan
from whilly.server.bodies import answer, body_of, large_answer
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import Switch
from whilly.server.route import Route
from whilly.wire.plans import PlanApplied, PlanStored

LIMITS = Limits()
SOURCE = "the plan"
MOST_TOLD = 50
"""Faults and notes: a file of the wrong kind has thousands."""

STRICT = Switch("strict", "Skip the tasks that the gate rejects.")


async def import_file(request: Request) -> Response:
    """Check a plan file and store it. Again, to apply changes to tasks that have not started."""
    engine = engine_of(request)
    plan, notes = await _plan_of(request)
    change = await import_plan(engine.database, plan)
    engine.freed(plan.id)
    return answer(
        PlanStored(
            plan.id,
            change.created,
            change.added,
            change.changed,
            change.unchanged,
            change.removed,
            change.settings_changed,
            notes,
        )
    )


async def apply_file(request: Request) -> Response:
    """Import a plan file and let the gate judge its tasks, before any money is spent."""
    engine, strict = engine_of(request), STRICT.of(request)
    plan, notes = await _plan_of(request)
    applied = await apply_plan(engine.database, plan, strict=strict)
    engine.freed(plan.id)
    change = applied.change
    return await large_answer(
        PlanApplied(
            plan.id,
            change.created,
            change.added,
            change.changed,
            change.unchanged,
            change.removed,
            change.settings_changed,
            notes,
            applied.skipped,
            applied.decisions,
        )
    )


async def _plan_of(request: Request) -> tuple[Plan, tuple[str, ...]]:
    data = await body_of(request, LIMITS.file_bytes)
    reading = await asyncio.to_thread(read_plan, data, SOURCE, limits=LIMITS)
    if reading.plan is None:
        count = len(reading.problems)
        raise Denied(
            422,
            "plan_rejected",
            f"The plan has {count} problem{'s' if count != 1 else ''}; nothing was stored.",
            "Mend what `errors` names and send it again.",
            errors=_told(reading.problems),
        )
    admit_to_plan(caller_of(request), reading.plan.id)
    return reading.plan, _told(reading.notes)


def _told(faults: tuple[Fault, ...]) -> tuple[str, ...]:
    return tuple(str(fault) for fault in faults[:MOST_TOLD])


ROUTES = (
    Route("POST", "/api/v1/plans/import", import_file, PEOPLE, body=json_schema, gives=PlanStored, minds_plan=True),
    Route(
        "POST",
        "/api/v1/plans/apply",
        apply_file,
        PEOPLE,
        body=json_schema,
        gives=PlanApplied,
        query=(STRICT,),
        minds_plan=True,
    ),
)
