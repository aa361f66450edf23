"""How an attempt went."""

from dataclasses import dataclass

from whilly.core.evidence import Usage
from whilly.core.outcome import Outcome
from whilly.core.plan import Status


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt went, for whoever started the worker."""

    task: str
    outcome: Outcome
    status: Status | None
    """What the control plane made of it; None while it does not say."""
    reason: str
    usage: Usage
    unusable: bool = False
    """The repository cannot be worked in; the task was given back, and no other would fare better."""
