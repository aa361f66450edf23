"""What a worker gets with a claim: everything it needs to work on the task and to prove the result."""

from dataclasses import dataclass, field

from whilly.core.money import Micros
from whilly.core.plan import Check, RepoTarget, TaskSpec


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Names one attempt. Every write of its worker carries it, so that one that was given up cannot report."""

    plan: str
    task: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """A finished task whose result the work starts from."""

    task: str
    commit: str
    branch: str
    repo_target_id: str = ""
    """The repository that the result is in; empty: the plan's own."""


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """Why there is another attempt: shown to the agent, and where its work goes on."""

    epoch: int
    outcome: str
    reason: str
    head_commit: str
    kept_ref: str
    failing_output: str
    """Output of the checks that failed, shortened; empty when none ran."""
    comment: str = ""
    """What a person asked to change."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The right and the means to work on one attempt of one task."""

    plan: str
    project: str
    spec: TaskSpec
    epoch: int
    claim_id: str
    lease_seconds: float
    checks: tuple[Check, ...]
    """The plan's and the task's own, merged."""
    agent: str
    """Empty: the worker's default."""
    timeout_minutes: int | None
    limit: Micros | None
    """The most this attempt may spend; None: no limit."""
    prerequisites: tuple[Prerequisite, ...] = ()
    earlier: EarlierAttempt | None = None
    """The attempt to repair or to continue; None for a fresh start."""
    repository: str = ""
    """Path of the local repository that `whilly run` was started on; empty when a repo target is given."""
    repo_target: RepoTarget | None = None
    claim_token: str = field(default="", repr=False)
    """Opens the routes of this attempt and nothing else, until the attempt is over."""

    @property
    def key(self) -> AttemptKey:
        """Names the attempt that this assignment starts."""
        return AttemptKey(self.plan, self.spec.id, self.epoch)
