"""What a worker's process says about itself, and what the control plane wants of it at once."""

from dataclasses import dataclass, field

from whilly.core.assignment import AttemptKey


@dataclass(frozen=True, slots=True)
class Presence:
    """One process that works under a worker's identity, with all that it offers. Sent at the start and on changes."""

    incarnation: str
    """Drawn anew by each process."""
    hostname: str
    agents: dict[str, str] = field(default_factory=dict)
    """The agents that it can run, with the versions they told."""
    tags: tuple[str, ...] = ()
    isolation: str = "clone"
    """A rung of `core.capabilities.RUNGS`."""
    slots: int = 1
    free_disk_bytes: int | None = None
    """Where its workspaces lie."""
    state: str = ""
    """Why it claims nothing, in one sentence; empty: it does."""
    previous: tuple[str, ...] = ()
    """Incarnations of processes before it that are known to be dead: all had the same locked folder."""
    take_over: bool = False
    """Take the identity from a process that may still be at work."""
    session: int = 0
    """Of this very process, when it only brings news; 0: it begins."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The process may work."""

    worker: str
    """The identity that its token stands for."""
    session: int
    """Rises with each process of this identity; goes with every claim, so that an earlier process gets none."""
    draining: bool = False
    """It shall take no more tasks."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The process ends by itself, and nobody needs to wait until it counts as silent."""

    session: int


@dataclass(frozen=True, slots=True)
class OrdersRequest:
    """Waits for what cannot wait for a heartbeat. One for all attempts of a process."""

    session: int
    known: tuple[AttemptKey, ...] = ()
    """Attempts that were ordered to end already."""
    wait_seconds: float = 0
    """How long the request may stay open while there are no orders; at most 30."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What is wanted of the process."""

    cancel: tuple[AttemptKey, ...] = ()
    """Attempts to end, their agents first: people cancelled the tasks."""
    superseded: bool = False
    """Another process works under this identity now: give everything back and end."""
    revoked: bool = False
    """Superseded by nobody: the worker was turned out."""
