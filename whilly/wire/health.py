"""Whether the control plane can work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alive:
    """The process answers."""

    status: str
    """ok."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether it can work."""

    status: str
    """ok or unavailable."""
    db_reachable: bool
    listener_connected: bool
    """Whether it hears of changes at once; without that it looks every second."""
    queue_depth: int
    """Tasks that could be claimed now."""


@dataclass(frozen=True, slots=True)
class Unhealthy(Health):
    """It cannot."""

    detail: str
    """What is missing."""
