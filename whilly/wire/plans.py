"""What the control plane tells about plans, and what it is told. Money is in dollars."""

from dataclasses import dataclass
from decimal import Decimal

from whilly.core.gate import GateDecision
from whilly.core.plan import Check, Origin, RepoTarget


@dataclass(frozen=True, slots=True)
class PlanListed:
    """A plan in a list."""

    id: str
    name: str
    counts: dict[str, int]
    """Tasks by status; only statuses that occur."""
    budget_usd: float | None
    """null: no limit."""
    spent_usd: float
    reserved_usd: float
    """Set aside for running attempts."""
    daily_budget_usd: float | None
    """What may be spent from one midnight UTC to the next; null: no limit."""
    spent_today_usd: float
    """Since midnight UTC."""
    paused: str | None
    """Why no tasks are handed out; null when they are."""
    asks_about_budget: bool
    """It is paused because its budget is used up: raise or lift the budget, and it goes on."""


@dataclass(frozen=True, slots=True)
class PlanList:
    """All plans."""

    plans: tuple[PlanListed, ...]
    """Newest first."""


@dataclass(frozen=True, slots=True)
class PlanTold(PlanListed):
    """A plan by itself."""

    github_issue_ref: str | None
    """The GitHub issue that it came from."""
    prd_file: str | None
    verification_commands: tuple[Check, ...]
    """Checks of all its tasks."""
    origin: Origin | None
    repo_targets: tuple[RepoTarget, ...]
    agent: str | None
    timeout_minutes: int | None
    review: str
    """When a person is asked about its tasks: none, result or before."""


@dataclass(frozen=True, slots=True)
class NewPlan:
    """An empty plan to be created."""

    id: str
    name: str
    budget_usd: Decimal | None = None
    """null: no limit."""


@dataclass(frozen=True, slots=True)
class Created:
    """What was created."""

    id: str


@dataclass(frozen=True, slots=True)
class PlanStored:
    """What an import did, by task id."""

    plan_id: str
    created: bool
    """The plan did not exist before."""
    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    settings_changed: bool
    """Something about the plan itself differs."""
    notes: tuple[str, ...]
    """What was understood, but perhaps otherwise than it was meant."""


@dataclass(frozen=True, slots=True)
class PlanApplied(PlanStored):
    """The same, and what the gate said before any money is spent."""

    skipped: tuple[str, ...]
    """Tasks that the gate refused, under `strict`, and that had not started."""
    decisions: dict[str, GateDecision]
    """By task id, for every task."""


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """Start a plan over."""

    hard: bool = False
    """Delete the plan, its tasks and its attempts; the log is kept."""


@dataclass(frozen=True, slots=True)
class ResetAnswer:
    """What was put back or deleted."""

    tasks: int
    """How many tasks it concerned."""


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """The most that may be spent."""

    budget_usd: Decimal | None
    """null: no limit. Six decimals at most."""


@dataclass(frozen=True, slots=True)
class PlanBudgetRequest(BudgetRequest):
    """The same for a plan."""

    daily: bool = False
    """What it may spend per day, which begins at midnight UTC, instead of altogether."""


@dataclass(frozen=True, slots=True)
class Principle:
    """An inventive principle of TRIZ."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """One finding of the preflight."""

    severity: str
    category: str
    task_ids: tuple[str, ...]
    title: str
    recommendation: str
    triz_principle: Principle


@dataclass(frozen=True, slots=True)
class PreflightTold:
    """The challenge to the plan as a whole, before it runs."""

    plan_id: str
    task_count: int
    verdict: str
    """approve, revise or reject."""
    ideality_score: float
    """1.0 for a plan without findings, down to 0.0."""
    findings: tuple[PreflightFinding, ...]
    """Worst first."""
    mergeable_groups: tuple[tuple[str, ...], ...]
    """Tasks that could be one."""
    removable_tasks: tuple[str, ...]
    """Tasks that repeat an earlier one."""
    summary: str
