"""Start a plan over, or remove it."""

from functools import partial

from whilly.core.errors import Refused, UnknownPlan
from whilly.core.events import Reset
from whilly.core.plan import RUNNING
from whilly.operations.release_dependants import ask_before
from whilly.store.database import Database
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction


async def reset_plan(database: Database, plan: str, *, hard: bool) -> int:
    """Put all tasks back to PENDING, or with `hard` delete plan, tasks and attempts; how many tasks it concerned.

    The log keeps everything either way, and a soft reset keeps earlier attempts and what they cost, but not the
    results that are kept as bundles. Raises UnknownPlan, and Refused while tasks are running.
    """
    return await database.transact(partial(_reset, plan=plan, hard=hard))


async def _reset(tx: Transaction, plan: str, hard: bool) -> int:
    rows = await tx.fetch("lock_tasks_of_plan", plan)
    if not rows and not await tx.fetch("lock_plan", plan):
        raise UnknownPlan(plan)
    tasks = [task_from(row) for row in rows]
    if running := [task.id for task in tasks if task.status in RUNNING]:
        raise Refused(
            f"Plan {plan!r} has running tasks ({', '.join(running[:5])}{' …' if running[5:] else ''}); "
            f"stop its workers or cancel them first: `whilly task cancel {plan} {running[0]}`."
        )
    if hard:
        await tx.execute("delete_plan", plan)
        tx.tell(plan, None, "plan.deleted", {"plan_id": plan, "tasks_count": len(tasks)})
        return len(tasks)
    await tx.execute("delete_bundles_of_plan", plan)
    for row, task in zip(rows, tasks, strict=True):
        ask_before(tx, tx.record(task, Reset(unmet=row["needs"])))
    return len(tasks)
