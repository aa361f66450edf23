"""What has happened to a task so far, as far as the next decision needs it."""

from dataclasses import dataclass
from datetime import datetime

from whilly.core.money import Micros
from whilly.core.plan import Review, Status


@dataclass(frozen=True, slots=True)
class Claim:
    """Who works on a task, by which request, and until when without a sign of life."""

    worker: str
    claim_id: str
    """Chosen by the worker, so that a claim whose answer was lost can be asked again."""
    since: datetime
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Task:
    """The state of one task. Changes only through `lifecycle.advance`."""

    plan: str
    id: str
    status: Status
    unmet: int = 0
    """Prerequisites that are not DONE."""
    epoch: int = 0
    """Rises with each claim and never falls; every later write names it."""
    attempts: int = 0
    """Attempts that counted since the task was last retried or reset."""
    repairs: int = 0
    """Repair attempts asked for since the task was last retried or reset."""
    version: int = 0
    """Rises with every event."""
    review: Review = Review.NONE
    approved: bool = False
    """A person agreed that the task may start (review `before`)."""
    claim: Claim | None = None
    parked_until: datetime | None = None
    cancel_requested: bool = False
    reserved: Micros = 0
    spent: Micros = 0
    """All attempts so far, unknown costs at their reservation."""
    reason: str = ""
    """Why it waits, stands still or failed; empty when there is nothing to say."""
    blocked_by: str = ""
    """The failed or skipped prerequisite that blocks it; empty when something else does."""
    result_commit: str = ""
    result_branch: str = ""
