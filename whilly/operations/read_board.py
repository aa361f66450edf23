"""What a page shows of a plan: bounded, however large the plan is."""

from dataclasses import dataclass

from whilly.core.evidence import CheckResult
from whilly.core.money import Micros
from whilly.core.plan import Status, TaskSpec
from whilly.operations.read_events import StoredEvent, event_from
from whilly.operations.read_plans import PlanOverview, plan_overview
from whilly.store.database import Database
from whilly.store.specs import from_json, spec_from

EVENTS_SHOWN = 25
PEOPLE_SHOWN = 12


@dataclass(frozen=True, slots=True)
class WaitsForPerson:
    """A task that only a person can bring further, with what its newest attempt brought."""

    id: str
    spec: TaskSpec
    status: Status
    reason: str
    branch: str
    commit: str
    epoch: int | None
    """None when it was never tried."""
    summary: str
    files_changed: int
    cost: Micros | None
    checks: tuple[CheckResult, ...]
    kept_ref: str


@dataclass(frozen=True, slots=True)
class Board:
    """The state of a plan at one moment."""

    overview: PlanOverview
    """With the most urgent of its tasks only, in plan order."""
    people: tuple[WaitsForPerson, ...]
    events: tuple[StoredEvent, ...]
    """Newest first."""


async def read_board(database: Database, plan: str, rows: int) -> Board:
    """A plan with up to `rows` of its tasks. Raises UnknownPlan."""
    shown = [row["id"] for row in await database.read("tasks_to_show", plan, rows)]
    overview = await plan_overview(database, plan, shown)
    people = await read_waiting(database, plan, PEOPLE_SHOWN)
    events = await database.read("latest_events", plan, EVENTS_SHOWN)
    return Board(
        overview,
        people,
        tuple(event_from(row) for row in events),
    )


async def read_waiting(database: Database, plan: str, limit: int) -> tuple[WaitsForPerson, ...]:
    """Up to `limit` tasks that only a person can bring further, those that wait for a decision first."""
    return tuple(
        WaitsForPerson(
            id=row["id"],
            spec=spec_from(row["spec"]),
            status=Status(row["status"]),
            reason=row["reason"],
            branch=row["result_branch"],
            commit=row["result_commit"],
            epoch=row["epoch"],
            summary=row["summary"] or "",
            files_changed=row["files_changed"] or 0,
            cost=row["cost_micros"],
            checks=from_json(tuple[CheckResult, ...], row["checks"]) if row["checks"] else (),
            kept_ref=row["kept_ref"] or "",
        )
        for row in await database.read("waiting_for_people", plan, limit)
    )
