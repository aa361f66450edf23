"""Task rows in, `core.task.Task` out."""

from typing import Any

from whilly.core.plan import Review, Status
from whilly.core.task import Claim, Task


def task_from(row: Any) -> Task:
    """The state of a task from a row that has all columns of `tasks`."""
    claim = None
    if row["claim_id"] is not None:
        claim = Claim(row["worker_id"], row["claim_id"], since=row["claimed_at"], lease_until=row["lease_until"])
    return Task(
        plan=row["plan_id"],
        id=row["id"],
        status=Status(row["status"]),
        unmet=row["unmet"],
        epoch=row["epoch"],
        attempts=row["attempts"],
        repairs=row["repairs"],
        version=row["version"],
        review=Review(row["review"]),
        approved=row["approved"],
        claim=claim,
        parked_until=row["parked_until"],
        cancel_requested=row["cancel_requested"],
        reserved=row["reserved_micros"],
        spent=row["spent_micros"],
        reason=row["reason"],
        blocked_by=row["blocked_by"],
        result_commit=row["result_commit"],
        result_branch=row["result_branch"],
    )
