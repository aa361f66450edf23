"""What a worker and the control plane say to each other. `Assignment` and `Report` are in `core`."""

from dataclasses import dataclass, field
from typing import Any

from whilly.core.evidence import Usage
from whilly.core.money import Micros
from whilly.core.plan import Status


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Asks for one task. Repeated with the same `claim_id` it gets the same answer while the claim is held."""

    claim_id: str
    plan: str
    agents: tuple[str, ...]
    """Agents this worker can run; the first is its default, for tasks that name none."""
    wait_seconds: float = 0
    """How long the control plane may hold the request open when there is nothing to do; at most 30."""
    tags: tuple[str, ...] = ()
    """What this worker is tagged with: tasks may ask for tags."""
    isolation: str = "clone"
    """The rung of `core.capabilities.RUNGS` on which it works: tasks may ask for a higher one."""
    session: int = 0
    """Which of the processes with this worker's identity asks, by the answer to its `Presence`; 0: it never said."""


@dataclass(frozen=True, slots=True)
class Start:
    """The workspace is ready and the agent is about to run."""

    agent: str
    agent_version: str = ""
    model: str = ""
    base_commit: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life, with what the attempt has consumed so far."""

    phase: str
    """preparing, agent, checks or reporting: shown to people, never a reason for a transition."""
    last_line: str = ""
    """The newest words of the agent, cleaned and shortened."""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What the control plane wants of the attempt."""

    lease_seconds: float
    """How long the lease still lasts, counted from the moment this heartbeat was sent."""
    cancel: bool = False
    limit: Micros | None = None
    """The most this attempt may spend, raised while the plan's budget allows."""
    paused: bool = False
    """The plan, or everything, is paused: nothing new is handed out; this attempt goes on."""


@dataclass(frozen=True, slots=True)
class AttemptEvent:
    """Something that happened inside an attempt: `verification.*`, `llm.*`, `workspace.*`, `pipeline.*`."""

    type: str
    payload: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] | None = None
    number: int = 0
    """Counts the attempt's events from 1 without gaps, so that a repeated one is stored once; 0: not counted."""


@dataclass(frozen=True, slots=True)
class TranscriptChunk:
    """A piece of what the agent printed, in order; numbers start at 0 and have no gaps."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class FinishAnswer:
    """What the control plane decided about a finished attempt."""

    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """Gives the task back without a result."""

    cause: str
    """shutdown, agent_missing, workspace_error …"""
    usage: Usage = Usage()
    kept_ref: str = ""
    reason: str = ""
    """One sentence for people; empty: there is none beyond the cause."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A worker introduces itself."""

    hostname: str
    agents: tuple[str, ...] = ()
    isolation: str = "clone"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, in the shape of RFC 9457."""

    type: str
    """Stable name: `lease_lost`, `unknown_task`, …"""
    title: str
    status: int
    detail: str
    remedy: str = ""
    """What to do about it."""
    errors: tuple[str, ...] = ()
    """Each fault by itself, where there are several."""
