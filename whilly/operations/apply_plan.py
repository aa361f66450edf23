"""Import a plan and act on the decision gate."""

import asyncio
from dataclasses import dataclass
from functools import partial

from whilly.core.events import Skipped
from whilly.core.gate import GateDecision, Verdict, judge_plan
from whilly.core.plan import Plan, Status
from whilly.operations.import_plan import PlanChange, store_plan
from whilly.operations.release_dependants import release_dependants
from whilly.store.database import Database
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Applied:
    """What `plan apply` did."""

    change: PlanChange
    decisions: dict[str, GateDecision]
    """By task id, for every task."""
    skipped: tuple[str, ...]
    """Tasks that the gate refused, under `strict`, and that had not started."""


async def apply_plan(database: Database, plan: Plan, *, strict: bool) -> Applied:
    """Import, judge each task before money is spent, and under `strict` skip what the gate rejects.

    Raises Refused as `import_plan` does.
    """
    # In a thread: ten thousand tasks take most of a second, and heartbeats must not wait for that.
    decisions = await asyncio.to_thread(judge_plan, plan)
    return await database.transact(partial(_apply, plan=plan, decisions=decisions, strict=strict))


async def _apply(tx: Transaction, plan: Plan, decisions: dict[str, GateDecision], strict: bool) -> Applied:
    change = await store_plan(tx, plan)
    rejected = {task for task, decision in decisions.items() if decision.verdict is Verdict.REJECT}
    warned = {task for task, decision in decisions.items() if decision.verdict is Verdict.WARN}
    skipped = []
    if strict and rejected:
        await tx.flush()
        for row in await tx.fetch("lock_tasks", [plan.id] * len(rejected), sorted(rejected)):
            task = task_from(row)
            started = task.epoch > row["first_epoch"]
            if not started and task.status in (Status.PENDING, Status.BLOCKED, Status.HUMAN_LOOP):
                rules = decisions[task.id].refused_by
                skipped.append(tx.record(task, Skipped(f"the gate refused it ({', '.join(rules)})", rules)))
        await release_dependants(tx, skipped)
    payload = {
        "plan_id": plan.id,
        "tasks_count": len(plan.tasks),
        "skipped_count": len(skipped),
        "warned_count": len(warned) if strict else len(warned | rejected),
        "strict": strict,
    }
    tx.tell(plan.id, None, "plan.applied", payload)
    return Applied(change, decisions, tuple(task.id for task in skipped))
