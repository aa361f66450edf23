"""What a person's program says to the control plane."""

from dataclasses import dataclass

from whilly.wire.texts import Name, Sentence, Words


@dataclass(frozen=True, slots=True)
class PauseRequest:
    """Hand out no more tasks, or go on doing so."""

    plan: Name | None = None
    """None: of every plan."""
    reason: Sentence = ""


@dataclass(frozen=True, slots=True)
class SteerRequest:
    """Cancel, retry or skip a task."""

    reason: Sentence = ""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A decision about a task that waits for one."""

    decision: Name
    """approved, rejected or changes_requested."""
    comment: Words = ""
    """What shall change; needed for changes_requested."""
    reviewer: Name = ""
    """Empty: whoever the token belongs to."""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """Where the task stands now."""

    status: str
