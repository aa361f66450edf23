"""A person's decision about a task that waits for one."""

from functools import partial

from whilly.core.errors import Refused
from whilly.core.events import ChangesRequested, ReviewApproved, ReviewRejected
from whilly.core.plan import Status
from whilly.operations.release_dependants import release_dependants
from whilly.operations.steer_task import locked_task
from whilly.store.database import Database
from whilly.store.transaction import Transaction

DECISIONS = ("approved", "rejected", "changes_requested")


async def review_task(
    database: Database, plan: str, task: str, decision: str, reviewer: str, comment: str = ""
) -> Status:
    """Approve, reject, or ask for changes, which needs a comment: the next attempt gets it.

    Raises UnknownTask, Refused.
    """
    if decision not in DECISIONS:
        raise Refused(f"A decision is one of {', '.join(DECISIONS)}, not {decision!r}.")
    if not reviewer.strip():
        raise Refused("A decision needs the name of the person who made it.")
    if decision == "changes_requested" and not comment.strip():
        raise Refused("Say what shall change: the next attempt gets your comment.")
    return await database.transact(
        partial(_review, plan=plan, task=task, decision=decision, reviewer=reviewer, comment=comment)
    )


async def _review(tx: Transaction, plan: str, task: str, decision: str, reviewer: str, comment: str) -> Status:
    found = await locked_task(tx, plan, task)
    if found.status is not Status.HUMAN_LOOP:
        raise Refused(f"Task {task} is {found.status.value}; it does not wait for a decision.")
    if decision == "changes_requested" and not found.result_commit:
        raise Refused(f"Task {task} has not been worked on yet: approve or reject it, or import the plan with changes.")
    if decision == "approved":
        moved = tx.record(found, ReviewApproved(reviewer, comment))
        if moved.status is Status.DONE:
            told = {"plan_id": plan, "task_id": task, "version": moved.version, "commit": moved.result_commit}
            tx.tell(plan, task, "COMPLETE", {**told, "branch": moved.result_branch, "worker_id": "", "usage": {}})
    elif decision == "rejected":
        moved = tx.record(found, ReviewRejected(reviewer, comment))
    else:
        moved = tx.record(found, ChangesRequested(reviewer, comment))
        await tx.execute("comment_on_last_attempt", plan, task, comment)
    await release_dependants(tx, [moved])
    return moved.status
