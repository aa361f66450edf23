"""Whether the control plane can work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alive:
    """What everybody may know."""

    status: str
    """ok or unavailable."""


@dataclass(frozen=True, slots=True)
class Health(Alive):
    """What those who are logged in may know besides. To others only `status` is told."""

    db_reachable: bool = True
    listener_connected: bool = True
    """Whether it hears of changes at once; without that it looks every second."""
    queue_depth: int = 0
    """Tasks that could be claimed now."""
