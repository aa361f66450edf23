"""What a person can do to a task: cancel, retry, skip."""

from collections.abc import Callable
from functools import partial

from whilly.core.errors import Refused, UnknownTask
from whilly.core.events import Blocked, CancelRequested, Failed, Retried, Skipped, Unblocked
from whilly.core.outcome import Outcome
from whilly.core.plan import FINISHED, RUNNING, Status
from whilly.core.task import Task
from whilly.operations.release_dependants import ask_before, release_dependants
from whilly.store.database import Database
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction


async def cancel_task(database: Database, plan: str, task: str, by: str) -> Status:
    """End a task. A running one ends when its worker confirms that the agent is dead. Raises UnknownTask, Refused."""
    return await database.transact(partial(_steer, plan=plan, task=task, change=partial(_cancel, by=by)))


async def skip_task(database: Database, plan: str, task: str, by: str, reason: str = "") -> Status:
    """Take a task out of the plan's way; its dependants are blocked. Raises UnknownTask, Refused."""
    change = partial(_skip, reason=reason or f"Skipped by {by}.")
    return await database.transact(partial(_steer, plan=plan, task=task, change=change))


async def retry_task(database: Database, plan: str, task: str, by: str) -> Status:
    """Give a task that failed, was skipped or is blocked a fresh set of attempts, and free those that waited for it.

    Raises UnknownTask, Refused.
    """
    return await database.transact(partial(_retry, plan=plan, task=task, by=by))


async def locked_task(tx: Transaction, plan: str, task: str) -> Task:
    """The task, locked until the transaction ends. Raises UnknownTask."""
    rows = await tx.fetch("lock_tasks", [plan], [task])
    if not rows:
        raise UnknownTask(plan, task)
    return task_from(rows[0])


async def _steer(tx: Transaction, plan: str, task: str, change: Callable[[Transaction, Task], Task]) -> Status:
    moved = change(tx, await locked_task(tx, plan, task))
    await release_dependants(tx, [moved])
    return moved.status


def _cancel(tx: Transaction, task: Task, by: str) -> Task:
    if task.status in FINISHED:
        raise Refused(f"Task {task.id} is {task.status.value} already; there is nothing to cancel.")
    if task.status in RUNNING:
        return task if task.cancel_requested else tx.record(task, CancelRequested(by))
    return tx.record(task, Failed(Outcome.CANCELLED, f"Cancelled by {by}."))


def _skip(tx: Transaction, task: Task, reason: str) -> Task:
    if task.status in RUNNING:
        raise Refused(f"Task {task.id} is running; cancel it first: `whilly task cancel {task.plan} {task.id}`.")
    if task.status is Status.DONE:
        raise Refused(f"Task {task.id} is DONE; its result stays.")
    if task.status is Status.SKIPPED:
        return task
    return tx.record(task, Skipped(reason))


async def _retry(tx: Transaction, plan: str, task: str, by: str) -> Status:
    found = await locked_task(tx, plan, task)
    if found.status not in (Status.FAILED, Status.BLOCKED, Status.SKIPPED):
        raise Refused(f"Task {task} is {found.status.value}; only FAILED, BLOCKED and SKIPPED tasks can be retried.")
    retried = tx.record(found, Retried(by))
    retried = await blocked_by_another(tx, retried)
    if retried.status is Status.PENDING:
        retried = ask_before(tx, retried)
    await tx.flush()
    for row in await tx.fetch("lock_dependants", [plan], [task]):
        dependant = task_from(row)
        if dependant.status is Status.BLOCKED and dependant.blocked_by == task:
            freed = tx.record(dependant, Unblocked(task))
            await blocked_by_another(tx, freed)
    return retried.status


async def blocked_by_another(tx: Transaction, task: Task) -> Task:
    """Block the task again when one of its prerequisites is FAILED or SKIPPED; for a task just set free."""
    await tx.flush()
    rows = await tx.fetch("ended_prerequisites", task.plan, task.id)
    if not rows:
        return task
    other = rows[0]
    reason = f"{other['id']}, which it needs, is {other['status']}: {other['reason'] or 'no reason was given'}"
    return tx.record(task, Blocked(reason, prerequisite=other["id"]))
