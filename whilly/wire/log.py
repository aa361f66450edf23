"""What the control plane tells about the log and about those who work."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class EventTold:
    """An event of the log."""

    event_id: int
    """Its position: the order in which things happened, without gaps."""
    event_type: str
    plan_id: str
    """`*` for what concerns no plan in particular."""
    task_id: str | None
    at: datetime
    payload: dict[str, Any]
    detail: dict[str, Any] | None
    hash: str
    """Chains it to the events before it."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of the log."""

    events: tuple[EventTold, ...]
    """Oldest first."""
    next: int
    """What to ask for next, as `after`."""


@dataclass(frozen=True, slots=True)
class LogVerified:
    """Whether the log is what was written."""

    sound: bool
    broken_at: int | None
    """The first position whose event is missing or changed."""
    events: int


@dataclass(frozen=True, slots=True)
class PauseTold:
    """Whether tasks are handed out at all."""

    paused: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class WorkerTold:
    """A worker as the control plane knows it."""

    id: str
    hostname: str
    agents: dict[str, str]
    """The agents that it can run, with their versions as far as they are known."""
    tags: tuple[str, ...]
    isolation: str
    """A rung of the isolation ladder: none, clone, bwrap or container."""
    slots: int
    free_disk_bytes: int | None
    plan_id: str | None
    """The only plan that it works on; null: any."""
    online: bool
    draining: bool
    """It takes no more tasks."""
    state: str
    """Why it claims nothing; empty: it does."""
    registered_at: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class WorkerList:
    """All workers."""

    workers: tuple[WorkerTold, ...]
    """Those seen last first."""
