"""What the end of a task means for those that need it."""

from collections.abc import Iterable

from whilly.core.events import Blocked, PrerequisiteDone, ReviewRequested
from whilly.core.plan import Review, Status
from whilly.core.task import Task
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction

_ENDS = {Status.DONE, Status.FAILED, Status.SKIPPED}


async def release_dependants(tx: Transaction, moved: Iterable[Task]) -> None:
    """Count a DONE task off its dependants; block those of a FAILED or SKIPPED one."""
    ended = {(task.plan, task.id): task for task in moved if task.status in _ENDS}
    if not ended:
        return
    await tx.flush()
    rows = await tx.fetch("lock_dependants", [plan for plan, _ in ended], [task for _, task in ended])
    dependants: dict[tuple[str, str], Task] = {}
    for row in rows:
        key = row["plan_id"], row["id"]
        dependant = dependants.get(key) or task_from(row)
        dependants[key] = _told(tx, dependant, ended[row["plan_id"], row["prerequisite"]])
    for dependant in dependants.values():
        ask_before(tx, dependant)


def _told(tx: Transaction, dependant: Task, ended: Task) -> Task:
    if ended.status is Status.DONE:
        return tx.record(dependant, PrerequisiteDone(ended.id))
    if dependant.status is Status.PENDING:
        said = ended.reason or "no reason was given"
        reason = f"{ended.id}, which it needs, is {ended.status.value}: {said}"
        return tx.record(dependant, Blocked(reason, prerequisite=ended.id))
    return dependant


def ask_before(tx: Transaction, task: Task) -> Task:
    """Ask a person about a task that is ready and may not start without one."""
    waits = task.status is Status.PENDING and task.unmet == 0 and task.review is Review.BEFORE and not task.approved
    if not waits:
        return task
    return tx.record(task, ReviewRequested("before", "Waits for a person's approval before it starts."))
