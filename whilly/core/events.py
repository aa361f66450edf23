"""What can happen to a task. Each class knows its stored type and payload; `lifecycle` knows what it changes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from whilly.core.money import Micros, to_usd
from whilly.core.outcome import Outcome

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A worker got the right to work on it."""

    type: ClassVar[str] = "CLAIM"
    worker: str
    claim_id: str
    at: datetime
    lease: timedelta
    reserved: Micros

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"worker_id": self.worker, "claimed_at": self.at.isoformat(), "reserved_usd": str(to_usd(self.reserved))}


@dataclass(frozen=True, slots=True)
class Started:
    """The agent is about to run in a prepared workspace."""

    type: ClassVar[str] = "START"
    agent: str = ""
    base_commit: str = ""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"agent": self.agent, "base_commit": self.base_commit}


@dataclass(frozen=True, slots=True)
class Completed:
    """Proved: its required checks passed on a recorded commit, and nobody has to be asked."""

    type: ClassVar[str] = "COMPLETE"
    worker: str
    commit: str
    branch: str
    cost: Micros | None

    def payload(self) -> Payload:
        """Stored with the event."""
        return {
            "worker_id": self.worker,
            "commit": self.commit,
            "branch": self.branch,
            "usage": {"cost_usd": None if self.cost is None else str(to_usd(self.cost))},
        }


@dataclass(frozen=True, slots=True)
class Failed:
    """Given up until a person retries it."""

    type: ClassVar[str] = "FAIL"
    outcome: Outcome
    reason: str
    worker: str = ""
    """Whose attempt was the last; empty where a person ended a task that nobody worked on."""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"worker_id": self.worker, "reason": self.outcome.value, "error": self.reason}


@dataclass(frozen=True, slots=True)
class Released:
    """Back in the queue: the attempt is over and another one may follow."""

    type: ClassVar[str] = "RELEASE"
    outcome: Outcome
    reason: str
    parked_until: datetime | None = None
    counted: bool = True
    """Whether the attempt uses up one of the task's attempts."""
    repair: bool = False
    """The next attempt repairs this one's result."""
    cause: str = ""
    """For RELEASED: `shutdown`, `operator_pause`, `admin_revoked`, …"""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {
            "reason": self.cause or self.outcome.value,
            "error": self.reason,
            "counted": self.counted,
            "repair": self.repair,
            "parked_until": self.parked_until.isoformat() if self.parked_until else None,
        }


@dataclass(frozen=True, slots=True)
class ReviewRequested:
    """A person has to decide: before the work (stage `before`) or about its result (stage `result`)."""

    type: ClassVar[str] = "human_review.required"
    stage: str
    reason: str
    commit: str = ""
    branch: str = ""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"stage_id": self.stage, "reason": self.reason, "commit": self.commit, "branch": self.branch}


@dataclass(frozen=True, slots=True)
class ReviewApproved:
    """A person agreed."""

    type: ClassVar[str] = "human_review.approved"
    reviewer: str
    comment: str = ""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"decision": "approved", "reviewer": self.reviewer, "comment": self.comment}


@dataclass(frozen=True, slots=True)
class ReviewRejected:
    """A person said no; the task ends."""

    type: ClassVar[str] = "human_review.rejected"
    reviewer: str
    comment: str = ""

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"decision": "rejected", "reviewer": self.reviewer, "comment": self.comment}


@dataclass(frozen=True, slots=True)
class ChangesRequested:
    """A person wants something different; the next attempt gets the comment."""

    type: ClassVar[str] = "human_review.changes_requested"
    reviewer: str
    comment: str

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"decision": "changes_requested", "reviewer": self.reviewer, "comment": self.comment}


@dataclass(frozen=True, slots=True)
class PrerequisiteDone:
    """One of the tasks it waited for is DONE. Stored only when it was the last one."""

    type: ClassVar[str] = "task.ready"
    prerequisite: str

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"after": self.prerequisite}


@dataclass(frozen=True, slots=True)
class Blocked:
    """Only a person can bring it further."""

    type: ClassVar[str] = "task.blocked"
    reason: str
    prerequisite: str = ""
    """The failed or skipped task that is in the way; empty when the attempt itself is the cause."""
    outcome: Outcome | None = None

    def payload(self) -> Payload:
        """Stored with the event."""
        return {
            "reason": self.reason,
            "prerequisite": self.prerequisite,
            "outcome": self.outcome.value if self.outcome else None,
        }


@dataclass(frozen=True, slots=True)
class Unblocked:
    """The failed prerequisite is being tried again."""

    type: ClassVar[str] = "task.unblocked"
    prerequisite: str

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"prerequisite": self.prerequisite}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Will not be done: refused by the gate, or a person's decision."""

    type: ClassVar[str] = "task.skipped"
    reason: str
    missing: tuple[str, ...] = ()
    """Ids of the gate's rules that refused it."""

    def payload(self) -> Payload:
        """Stored with the event."""
        reason = "decision_gate_failed" if self.missing else self.reason
        return {"reason": reason, "missing": list(self.missing)}


@dataclass(frozen=True, slots=True)
class Retried:
    """A person wants another go; attempts start from nought, history stays."""

    type: ClassVar[str] = "task.retried"
    by: str

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"by": self.by}


@dataclass(frozen=True, slots=True)
class Reset:
    """Part of `plan reset`: as if it had never run, except for its epoch and its history."""

    type: ClassVar[str] = "RESET"
    unmet: int

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"reason": "manual_reset", "mode": "keep_tasks"}


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A person wants the running attempt to stop; the worker confirms when its agent is dead."""

    type: ClassVar[str] = "task.cancel_requested"
    by: str

    def payload(self) -> Payload:
        """Stored with the event."""
        return {"by": self.by}


TaskEvent = (
    Claimed
    | Started
    | Completed
    | Failed
    | Released
    | ReviewRequested
    | ReviewApproved
    | ReviewRejected
    | ChangesRequested
    | PrerequisiteDone
    | Blocked
    | Unblocked
    | Skipped
    | Retried
    | Reset
    | CancelRequested
)
