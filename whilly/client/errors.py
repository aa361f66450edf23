"""What can come of asking the control plane.

ControlPlaneError
├── Unreachable         no usable answer, though asked as long as allowed; asking again later may help
└── Rejected            an answer that says no; asking again unchanged gives the same
    └── LeaseLostRemotely   the attempt is no longer this worker's: stop working on it
"""

from whilly.core.errors import WhillyError
from whilly.wire.work import Problem


class ControlPlaneError(WhillyError):
    """The control plane did not do what was asked."""


class Unreachable(ControlPlaneError):
    """No usable answer: no connection, none in time, a server error, or a page from something in between."""

    def __init__(self, what: str, last: str) -> None:
        super().__init__(f"The control plane gave no usable answer to {what!r}: {last}.")
        self.last = last


class Rejected(ControlPlaneError):
    """The control plane understood and said no."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(" ".join(part for part in (problem.detail or problem.title, problem.remedy) if part))
        self.problem = problem

    @property
    def kind(self) -> str:
        """The stable name of the problem, such as `unknown_plan`."""
        return self.problem.type.rstrip("/").rsplit("/", 1)[-1]


class LeaseLostRemotely(Rejected):
    """The attempt is no longer this worker's: another one may already work on the task."""
