"""Plans as a person writes them: tasks, their order, their checks and their budget."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from whilly.core.money import Micros


class Priority(IntEnum):
    """Lower runs first."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3

    @property
    def word(self) -> str:
        """As it is written in plan files and shown: `critical`."""
        return self.name.lower()


class Status(StrEnum):
    """Where a task stands. Everything finer (ready, parked, paused …) is derived: see `core.why`."""

    PENDING = "PENDING"
    CLAIMED = "CLAIMED"
    IN_PROGRESS = "IN_PROGRESS"
    HUMAN_LOOP = "HUMAN_LOOP"
    BLOCKED = "BLOCKED"
    DONE = "DONE"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


RUNNING = frozenset({Status.CLAIMED, Status.IN_PROGRESS})
"""Statuses that hold a lease."""

FINISHED = frozenset({Status.DONE, Status.FAILED, Status.SKIPPED})
"""Statuses that only a person's retry or reset leaves."""


class Review(StrEnum):
    """When a person is asked about a task."""

    NONE = "none"
    RESULT = "result"
    BEFORE = "before"


@dataclass(frozen=True, slots=True)
class Check:
    """A verification command. Runs through the shell in a clean checkout of the attempt's commit."""

    name: str
    command: str
    required: bool = True
    source: str = "profile"
    repair_max_attempts: int = 1
    """How many repair attempts a failure of this check may start."""
    timeout_seconds: int = 600


@dataclass(frozen=True, slots=True)
class RepoTarget:
    """A repository that tasks may name by `repo_target_id`."""

    id: str
    provider: str
    repo_full_name: str
    clone_url: str = ""
    default_branch: str = ""
    credential_policy: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a plan came from: an issue, a ticket, a document."""

    system: str
    ref: str
    url: str = ""
    title: str = ""
    content_hash: str = ""
    prd_file: str = ""
    decomposition_mode: str = ""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One piece of work as the plan describes it. What happened to it is in `core.task.Task`."""

    id: str
    description: str
    priority: Priority = Priority.MEDIUM
    status: Status = Status.PENDING
    """Only PENDING, DONE, FAILED and SKIPPED are stored on import; a run in progress is normalised to PENDING."""
    dependencies: tuple[str, ...] = ()
    key_files: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    test_steps: tuple[str, ...] = ()
    prd_requirement: str = ""
    repo_target_id: str = ""
    agent: str = ""
    """Empty: the plan's agent, else the worker's default."""
    budget: Micros | None = None
    """The most that all attempts of this task together may spend."""
    timeout_minutes: int | None = None
    """None: the plan's; else the worker's default."""
    review: Review | None = None
    """None: the plan's."""
    checks: tuple[Check, ...] = ()
    """In addition to the plan's; the same name replaces the plan's check."""
    worker_tags: tuple[str, ...] = ()
    """What its worker must be tagged with, in addition to the plan's."""
    isolation: str = ""
    """The lowest rung of `capabilities.RUNGS` it may run on; empty: the plan's."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A set of tasks with dependencies, a budget, repositories and checks. Key of a task is (plan id, task id)."""

    id: str
    project: str
    tasks: tuple[TaskSpec, ...] = ()
    """In file order, which breaks ties between equal priorities."""
    checks: tuple[Check, ...] = ()
    budget: Micros | None = None
    daily_budget: Micros | None = None
    """The most that may be spent from one midnight UTC to the next."""
    agent: str = ""
    timeout_minutes: int | None = None
    review: Review = Review.NONE
    origin: Origin | None = None
    repo_targets: tuple[RepoTarget, ...] = field(default=())
    worker_tags: tuple[str, ...] = ()
    """What the workers of all its tasks must be tagged with."""
    isolation: str = ""
    """The lowest rung its tasks may run on, where they name none; empty: any."""


def checks_of(plan_checks: tuple[Check, ...], task_checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The checks that decide about a task: the plan's, with the task's own replacing those of the same name."""
    by_name = {check.name: check for check in plan_checks}
    by_name.update({check.name: check for check in task_checks})
    return tuple(by_name.values())
