"""What the control plane tells about tasks. Money is in dollars."""

from dataclasses import dataclass
from datetime import datetime

from whilly.core.evidence import CheckResult


@dataclass(frozen=True, slots=True)
class ReviewTold:
    """A task's review, as far as it has come."""

    required: bool
    decision: str | None
    """approved, rejected or changes_requested."""
    stage_id: str | None
    reason: str | None
    reviewer: str | None


@dataclass(frozen=True, slots=True)
class TaskListed:
    """A task in a list."""

    id: str
    plan_id: str
    status: str
    priority: str
    """critical, high, medium or low."""
    claimed_by: str | None
    claimed_at: datetime | None
    version: int
    """Counts every change of the task."""
    key_files: tuple[str, ...]
    description: str
    acceptance_criteria: tuple[str, ...]
    test_steps: tuple[str, ...]
    human_review: ReviewTold


@dataclass(frozen=True, slots=True)
class TaskList:
    """A page of tasks, by priority and id."""

    tasks: tuple[TaskListed, ...]
    next_cursor: str | None
    """Leads to the next page; null on the last one."""


@dataclass(frozen=True, slots=True)
class WhyTold:
    """Why a task is where it is."""

    code: str
    """A stable name for the situation."""
    sentence: str
    remedy: str
    """What would change it; empty when nothing needs to."""


@dataclass(frozen=True, slots=True)
class AttemptTold:
    """An attempt with its evidence."""

    epoch: int
    """Its number; every write of its worker carries it."""
    worker_id: str
    agent: str
    agent_version: str
    model: str
    claimed_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    phase: str
    outcome: str | None
    """null while it runs."""
    reason: str
    summary: str
    """The agent's own closing words; nothing follows from them."""
    base_commit: str
    head_commit: str
    branch: str
    kept_ref: str
    files_changed: int
    exit_code: int | None
    cost_usd: float | None
    """null: unknown."""
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class AttemptList:
    """All attempts of a task."""

    attempts: tuple[AttemptTold, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class EvidenceTold:
    """What an attempt proved, as the verdict was made from it."""

    plan_id: str
    task_id: str
    epoch: int
    outcome: str | None
    """null while it runs."""
    reason: str
    base_commit: str
    head_commit: str
    branch: str
    kept_ref: str
    files_changed: int
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class TaskTold:
    """A task by itself, with everything that was tried."""

    id: str
    plan_id: str
    status: str
    priority: str
    """critical, high, medium or low."""
    description: str
    dependencies: tuple[str, ...]
    key_files: tuple[str, ...]
    acceptance_criteria: tuple[str, ...]
    test_steps: tuple[str, ...]
    prd_requirement: str
    repo_target_id: str | None
    version: int
    """Counts every change of the task."""
    epoch: int
    attempts: int
    """How many attempts count."""
    claimed_by: str | None
    claimed_at: datetime | None
    parked_until: datetime | None
    cancel_requested: bool
    phase: str | None
    """preparing, agent, checks or reporting, while it runs."""
    last_line: str | None
    """The newest words of the agent."""
    agent: str | None
    spent_usd: float | None
    result_commit: str | None
    result_branch: str | None
    why: WhyTold
    history: tuple[AttemptTold, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class TaskInPlan:
    """A task as one line of its plan."""

    id: str
    status: str
    priority: str
    """critical, high, medium or low."""
    description: str
    dependencies: tuple[str, ...]
    why: WhyTold
    phase: str | None
    """preparing, agent, checks or reporting, while it runs."""
    last_line: str | None
    """The newest words of the agent."""
    attempts: int
    """How many attempts count."""
    spent_usd: float
    result_branch: str | None


@dataclass(frozen=True, slots=True)
class OverviewTold:
    """Tasks of a plan, each with the reason why it is where it is."""

    plan_id: str
    at: datetime
    """The moment of this view."""
    tasks: tuple[TaskInPlan, ...]
    """In plan order."""
    next_cursor: str | None
    """Leads to the next page; null on the last one."""


@dataclass(frozen=True, slots=True)
class WaitsTold:
    """A task that only a person can bring further, with what its newest attempt brought."""

    id: str
    plan_id: str
    status: str
    """HUMAN_LOOP, BLOCKED or FAILED."""
    description: str
    reason: str
    result_branch: str | None
    result_commit: str | None
    epoch: int | None
    """null: it was never tried."""
    summary: str
    files_changed: int
    cost_usd: float | None
    checks: tuple[CheckResult, ...]
    kept_ref: str


@dataclass(frozen=True, slots=True)
class WaitsList:
    """Tasks that wait for a person."""

    tasks: tuple[WaitsTold, ...]
    """Those that wait for a decision first."""
