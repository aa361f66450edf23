"""What a person's program says to the control plane."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PauseRequest:
    """Hand out no more tasks, or go on doing so."""

    plan: str | None = None
    """None: of every plan."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SteerRequest:
    """Cancel, retry or skip a task."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A decision about a task that waits for one."""

    decision: str
    """approved, rejected or changes_requested."""
    comment: str = ""
    """What shall change; needed for changes_requested."""
    reviewer: str = ""
    """Empty: whoever the token belongs to."""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """Where the task stands now."""

    status: str
