"""The tasks of a plan, page by page, in an order that new tasks do not disturb."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from whilly.core.errors import UnknownPlan
from whilly.core.plan import Priority, Status, TaskSpec
from whilly.core.task import Task
from whilly.store.database import Database
from whilly.store.specs import spec_from
from whilly.store.tasks import task_from


@dataclass(frozen=True, slots=True)
class TaskReview:
    """What was last said about a task's review."""

    event: str
    """Type of the event, such as `human_review.required`; empty when nothing was said yet."""
    stage: str = ""
    reason: str = ""
    reviewer: str = ""


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A row of the list."""

    task: Task
    spec: TaskSpec
    priority: Priority
    review: TaskReview
    claimed_at: datetime | None


Place = tuple[int, str]
"""Priority and id of the last task of a page."""

BEGINNING: Place = (-1, "")


async def read_task_page(
    database: Database, plan: str, *, status: Status | None = None, after: Place = BEGINNING, limit: int = 100
) -> list[ListedTask]:
    """Up to `limit` tasks beyond `after`, by priority and id. Raises UnknownPlan."""
    rows = await database.read("tasks_page", plan, status and status.value, *after, limit)
    if not rows and not await database.read("plan_by_id", plan):
        raise UnknownPlan(plan)
    listed = []
    for row in rows:
        said = msgspec.json.decode(row["review_payload"]) if row["review_payload"] else {}
        review = TaskReview(
            row["review_event"] or "",
            said.get("stage_id", ""),
            said.get("reason") or said.get("comment") or "",
            said.get("reviewer", ""),
        )
        task = task_from(row)
        claimed_at = task.claim.since if task.claim else None
        listed.append(ListedTask(task, spec_from(row["spec"]), Priority(row["priority"]), review, claimed_at))
    return listed
