"""What there is to see of plans and their tasks."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from whilly.core.capabilities import RUNGS, Offer, Wants
from whilly.core.errors import UnknownPlan, UnknownTask
from whilly.core.money import Micros
from whilly.core.plan import Plan, Status, TaskSpec
from whilly.core.task import Task
from whilly.core.why import HeldFile, TaskFacts, Waiting, Why, explain
from whilly.store.database import Database
from whilly.store.specs import from_json, plan_from, spec_from
from whilly.store.tasks import task_from

ONLINE_SECONDS = 90
"""A worker that was seen within this time counts as online: one and a half leases."""


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan in one line."""

    id: str
    project: str
    counts: dict[Status, int]
    """Only statuses that occur."""
    budget: Micros | None
    spent: Micros
    reserved: Micros
    paused: str | None
    """Why no tasks are handed out; None when they are."""
    repository: str = ""
    daily_budget: Micros | None = None
    spent_today: Micros = 0
    """Since midnight UTC."""
    asks_about_budget: bool = False
    """It is paused because its budget is used up; money lets it go on."""

    @property
    def tasks(self) -> int:
        """How many tasks it has."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as people see it."""

    spec: TaskSpec
    task: Task
    why: Why
    position: int
    phase: str = ""
    last_line: str = ""
    agent: str = ""
    used: Micros | None = None
    """What the running attempt has spent so far; None when it does not say."""


@dataclass(frozen=True, slots=True)
class PlanOverview:
    """A plan with all its tasks, in plan order."""

    summary: PlanSummary
    plan: Plan
    tasks: tuple[TaskView, ...]
    at: datetime
    """The database's time of this view."""


async def list_plans(database: Database) -> list[PlanSummary]:
    """All plans, newest first."""
    return _summaries(await database.read("list_plans", None))


async def plan_summary(database: Database, plan: str) -> PlanSummary:
    """One plan in one line. Raises UnknownPlan."""
    found = _summaries(await database.read("list_plans", plan))
    if not found:
        raise UnknownPlan(plan)
    return found[0]


async def plan_overview(database: Database, plan: str, tasks: Iterable[str] | None = None) -> PlanOverview:
    """A plan and its tasks (or only the given ones), each with the reason why it is where it is. Raises UnknownPlan."""
    row = await _plan_row(database, plan)
    views = await _views(database, row, None if tasks is None else list(tasks))
    specs = tuple(view.spec for view in views)
    return PlanOverview(await plan_summary(database, plan), plan_from(row, specs), views, row["now"])


async def task_view(database: Database, plan: str, task: str) -> TaskView:
    """One task; what it takes does not grow with the plan. Raises UnknownPlan, UnknownTask."""
    views = await _views(database, await _plan_row(database, plan), [task])
    if not views:
        raise UnknownTask(plan, task)
    return views[0]


async def export_plan(database: Database, plan: str) -> Plan:
    """The plan with the statuses its tasks have now. Raises UnknownPlan."""
    row = await _plan_row(database, plan)
    tasks = await database.read("tasks_of_plan", plan, None)
    # In a thread: many thousand tasks take a while, and a server has heartbeats to answer meanwhile.
    return await asyncio.to_thread(_exported, row, tasks)


def _exported(row: Any, tasks: list[Any]) -> Plan:
    specs = tuple(replace(spec_from(task["spec"]), status=Status(task["status"])) for task in tasks)
    return plan_from(row, specs)


async def _plan_row(database: Database, plan: str) -> Any:
    rows = await database.read("plan_by_id", plan)
    if not rows:
        raise UnknownPlan(plan)
    return rows[0]


async def _views(database: Database, plan: Any, wanted: list[str] | None) -> tuple[TaskView, ...]:
    tasks = await database.read("tasks_of_plan", plan["id"], wanted)
    prerequisites = _grouped(await database.read("open_prerequisites", plan["id"], wanted))
    held = _held(await database.read("files_in_the_way", plan["id"], wanted))
    return tuple(_view(task, plan, prerequisites, held) for task in tasks)


def _summaries(rows: list[Any]) -> list[PlanSummary]:
    return [
        PlanSummary(
            id=row["id"],
            project=row["project"],
            counts={Status(status): count for status, count in zip(row["statuses"], row["counts"], strict=True)},
            budget=row["budget_micros"],
            spent=row["spent_micros"],
            reserved=row["reserved_micros"],
            paused=row["paused"],
            repository=row["repository"],
            daily_budget=row["daily_budget_micros"],
            spent_today=row["spent_today_micros"],
            asks_about_budget=row["asks_about_budget"],
        )
        for row in rows
    ]


def _grouped(rows: list[Any]) -> dict[str, tuple[Waiting, ...]]:
    found: dict[str, list[Waiting]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(Waiting(row["id"], Status(row["status"]), row["reason"]))
    return {task: tuple(waiting) for task, waiting in found.items()}


def _held(rows: list[Any]) -> dict[str, tuple[HeldFile, ...]]:
    found: dict[str, list[HeldFile]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(HeldFile(row["path"], row["holder_plan"], row["holder_task"]))
    return {task: tuple(files) for task, files in found.items()}


def _view(
    row: Any, plan: Any, prerequisites: dict[str, tuple[Waiting, ...]], held: dict[str, tuple[HeldFile, ...]]
) -> TaskView:
    task = task_from(row)
    facts = TaskFacts(
        task=task,
        now=plan["now"],
        waiting_for=prerequisites.get(task.id, ()),
        plan_paused=plan["paused_reason"],
        system_paused=plan["system_paused"],
        budget=plan["budget_micros"],
        spent=plan["spent_micros"],
        reserved=plan["reserved_micros"],
        daily_budget=plan["daily_budget_micros"],
        spent_today=plan["spent_today_micros"],
        asks_about_budget=plan["asks_about_budget"],
        held_files=held.get(task.id, ()),
        phase=row["phase"] or "",
        last_seen_seconds=row["last_seen_seconds"],
        workers_online=plan["workers_online"],
        task_budget=row["budget_micros"],
        wants=Wants(row["agent"], tuple(row["worker_tags"]), RUNGS[row["isolation_rung"]]),
        offers=from_json(tuple[Offer, ...], plan["offers"]),
        workers_hold=plan["all_hold"] or "",
        elsewhere=bool(row["repository"]),
    )
    spec = spec_from(row["spec"])
    return TaskView(
        spec=spec,
        task=task,
        why=explain(facts),
        position=row["position"],
        phase=row["phase"] or "",
        last_line=row["last_line"] or "",
        agent=row["agent"],
        used=row["used_micros"],
    )
