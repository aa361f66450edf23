"""Take a plan in, or a new version of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from whilly.core.capabilities import rung
from whilly.core.errors import Refused
from whilly.core.money import to_usd
from whilly.core.plan import Plan, Review, Status, TaskSpec
from whilly.operations.set_budget import book_budgets
from whilly.store.database import Database
from whilly.store.purses import purse_from
from whilly.store.specs import plan_from, spec_from, to_json
from whilly.store.transaction import Transaction

MANY = 500
"""An import of so many tasks changes what the planner has to know; waiting for autovacuum costs slow claims."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What an import did to a plan, by task id."""

    created: bool
    """The plan did not exist before."""
    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    settings_changed: bool
    """Something about the plan itself differs: its name, checks, budget, defaults or repositories."""


async def import_plan(database: Database, plan: Plan) -> PlanChange:
    """Store a plan that the reader found right. Repeated, it applies changes to tasks that have not started.

    Raises Refused, naming the tasks, when the new version changes or drops some that have started; nothing is stored.
    """
    return await database.transact(partial(store_plan, plan=plan))


async def store_plan(tx: Transaction, plan: Plan) -> PlanChange:
    """The work of `import_plan` inside a transaction; locks the plan."""
    stored = await tx.fetch("lock_plan", plan.id)
    if not stored:
        await _insert_plan(tx, plan)
        await _insert_tasks(tx, plan, plan.tasks, {})
        return PlanChange(True, tuple(spec.id for spec in plan.tasks), (), (), (), settings_changed=True)
    return await _merge(tx, plan, stored[0])


async def _insert_plan(tx: Transaction, plan: Plan) -> None:
    await tx.execute("insert_plan", plan.id, *_plan_columns(plan))
    payload = {
        "plan_id": plan.id,
        "name": plan.project,
        "tasks_count": len(plan.tasks),
        "prd_file": plan.origin.prd_file if plan.origin else None,
        "origin_system": plan.origin.system if plan.origin else None,
        "origin_ref": plan.origin.ref if plan.origin else None,
        "budget_usd": None if plan.budget is None else str(to_usd(plan.budget)),
        "budget_usd_per_day": None if plan.daily_budget is None else str(to_usd(plan.daily_budget)),
    }
    tx.tell(plan.id, None, "plan.created", payload)


def _plan_columns(plan: Plan) -> tuple[object, ...]:
    return (
        plan.project,
        plan.agent,
        plan.timeout_minutes,
        plan.review.value,
        to_json(plan.checks),
        to_json(plan.origin) if plan.origin else None,
        to_json(plan.repo_targets),
        plan.budget,
        plan.daily_budget,
        list(plan.worker_tags),
        plan.isolation,
    )


async def _merge(tx: Transaction, plan: Plan, row: Any) -> PlanChange:
    rows = {task["id"]: task for task in await tx.fetch("lock_tasks_of_plan", plan.id)}
    before = {task_id: spec_from(task["spec"]) for task_id, task in rows.items()}
    after = {spec.id: spec for spec in plan.tasks}
    added = [spec for spec in plan.tasks if spec.id not in before]
    changed = [spec for spec in plan.tasks if spec.id in before and _content(before[spec.id]) != _content(spec)]
    removed = [task_id for task_id in before if task_id not in after]
    _refuse_started(plan.id, rows, [spec.id for spec in changed], removed)

    settings_changed = await _update_settings(tx, plan, row)
    if removed:
        await tx.execute("delete_tasks", plan.id, removed)
        for task_id in removed:
            tx.tell(plan.id, task_id, "task.removed", {"plan_id": plan.id, "task_id": task_id})
    statuses = {task_id: Status(task["status"]) for task_id, task in rows.items() if task_id in after}
    if changed:
        await tx.execute("delete_tasks", plan.id, [spec.id for spec in changed])
        for spec in changed:
            del statuses[spec.id]
            tx.tell(plan.id, spec.id, "task.changed", {"plan_id": plan.id, "task_id": spec.id})
    new = {spec.id for spec in (*added, *changed)}
    await _insert_tasks(tx, plan, [spec for spec in plan.tasks if spec.id in new], statuses, {s.id for s in changed})
    await _update_defaults(tx, plan)
    unchanged = tuple(spec.id for spec in plan.tasks if spec.id not in new)
    changed_ids = tuple(spec.id for spec in changed)
    return PlanChange(False, tuple(spec.id for spec in added), changed_ids, unchanged, tuple(removed), settings_changed)


def _content(spec: TaskSpec) -> TaskSpec:
    """What counts as a change: everything but the status, which the control plane knows better."""
    return replace(spec, status=Status.PENDING)


def _refuse_started(plan: str, rows: dict[str, Any], changed: list[str], removed: list[str]) -> None:
    def started(task_id: str) -> bool:
        waits = rows[task_id]["status"] in (Status.PENDING, Status.BLOCKED, Status.HUMAN_LOOP, Status.SKIPPED)
        return rows[task_id]["epoch"] > rows[task_id]["first_epoch"] or not waits

    complaints = [f"{task_id} would change" for task_id in changed if started(task_id)]
    complaints += [f"{task_id} would be removed" for task_id in removed if started(task_id)]
    if complaints:
        raise Refused(
            f"Plan {plan!r} was not imported, because these tasks have started: {'; '.join(complaints)}. "
            f"Give the new work new task ids, or start over with `whilly plan reset {plan}`."
        )


async def _update_settings(tx: Transaction, plan: Plan, row: Any) -> bool:
    stored = plan_from(row, ())
    budget = stored.budget if plan.budget is None else plan.budget
    daily = stored.daily_budget if plan.daily_budget is None else plan.daily_budget
    wanted = replace(plan, tasks=(), budget=budget, daily_budget=daily)
    if wanted == stored:
        return False
    if (budget, daily) != (stored.budget, stored.daily_budget):
        purse = purse_from((await tx.fetch("lock_plan_budget", plan.id))[0])
        await book_budgets(tx, plan.id, purse, budget, daily, by="")
    await tx.execute("update_plan", plan.id, *_plan_columns(wanted))
    tx.tell(plan.id, None, "plan.changed", {"plan_id": plan.id, "name": plan.project})
    return True


async def _insert_tasks(
    tx: Transaction,
    plan: Plan,
    specs: Iterable[TaskSpec],
    statuses: dict[str, Status],
    known: set[str] | frozenset[str] = frozenset(),
) -> None:
    """Insert tasks; `statuses` are those of the plan's other tasks, `known` those that are no news to the log."""
    specs = tuple(specs)
    if not specs:
        return
    everywhere = {**{spec.id: spec.status for spec in specs}, **statuses}
    positions = {spec.id: place for place, spec in enumerate(plan.tasks)}
    # Epochs go on where those of a deleted plan of this name ended: one of its workers may still come back.
    epochs = {row["task_id"]: row["epoch"] for row in await tx.fetch("first_epochs", plan.id)}
    reasons: dict[str, str] = {}
    blocked_by: dict[str, str] = {}
    unmet: dict[str, int] = {}
    for spec in specs:
        unmet[spec.id] = sum(everywhere[needed] is not Status.DONE for needed in spec.dependencies)
        bad = next((n for n in spec.dependencies if everywhere[n] in (Status.FAILED, Status.SKIPPED)), None)
        if bad and spec.status is Status.PENDING:
            blocked_by[spec.id] = bad
            reasons[spec.id] = f"{bad}, which it needs, is {everywhere[bad].value}."
    waiting = [
        spec
        for spec in specs
        if spec.status is Status.PENDING and not unmet[spec.id] and _review(plan, spec) is Review.BEFORE
    ]
    asked = {spec.id for spec in waiting}
    for task_id in asked:
        reasons[task_id] = "Waits for a person's approval before it starts."

    def status(spec: TaskSpec) -> str:
        if spec.id in blocked_by:
            return Status.BLOCKED.value
        return Status.HUMAN_LOOP.value if spec.id in asked else spec.status.value

    await tx.copy(
        "tasks",
        [
            "plan_id",
            "id",
            "position",
            "priority",
            "status",
            "unmet",
            "epoch",
            "first_epoch",
            "review",
            "agent",
            "worker_tags",
            "isolation_rung",
            "repository",
            "key_files",
            "needs",
            "budget_micros",
            "reason",
            "blocked_by",
        ],
        (
            (
                plan.id,
                spec.id,
                positions[spec.id],
                int(spec.priority),
                status(spec),
                unmet[spec.id],
                epochs.get(spec.id, 0),
                epochs.get(spec.id, 0),
                _review(plan, spec).value,
                spec.agent or plan.agent,
                _worker_tags(plan, spec),
                rung(spec.isolation or plan.isolation),
                spec.repo_target_id,
                list(spec.key_files),
                len(spec.dependencies),
                spec.budget,
                reasons.get(spec.id, ""),
                blocked_by.get(spec.id, ""),
            )
            for spec in specs
        ),
    )
    await tx.copy("specs", ["plan_id", "task_id", "spec"], ((plan.id, spec.id, to_json(spec)) for spec in specs))
    await tx.copy(
        "dependencies",
        ["plan_id", "task_id", "needs"],
        ((plan.id, spec.id, needed) for spec in specs for needed in spec.dependencies),
    )
    await tx.copy(
        "events",
        ["plan_id", "task_id", "type", "payload"],
        ((plan.id, spec.id, "task.created", _created(plan, spec)) for spec in specs if spec.id not in known),
    )
    if len(specs) >= MANY:
        await tx.execute("analyze_tasks")
    for spec in waiting:
        payload = {"plan_id": plan.id, "task_id": spec.id, "stage_id": "before", "reason": reasons[spec.id]}
        tx.tell(plan.id, spec.id, "human_review.required", payload)


def _created(plan: Plan, spec: TaskSpec) -> str:
    payload = {
        "plan_id": plan.id,
        "task_id": spec.id,
        "priority": spec.priority.word,
        "dependencies": spec.dependencies,
        "status": spec.status,
    }
    return to_json(payload)


def _review(plan: Plan, spec: TaskSpec) -> Review:
    return plan.review if spec.review is None else spec.review


def _worker_tags(plan: Plan, spec: TaskSpec) -> list[str]:
    return list(dict.fromkeys((*plan.worker_tags, *spec.worker_tags)))


async def _update_defaults(tx: Transaction, plan: Plan) -> None:
    """Bring what tasks take over from their plan, and their order, up to date."""
    await tx.execute(
        "update_task_defaults",
        plan.id,
        [spec.id for spec in plan.tasks],
        [_review(plan, spec).value for spec in plan.tasks],
        [spec.agent or plan.agent for spec in plan.tasks],
        # Rows of an array of arrays would have to be of one length.
        [",".join(_worker_tags(plan, spec)) for spec in plan.tasks],
        [rung(spec.isolation or plan.isolation) for spec in plan.tasks],
    )
