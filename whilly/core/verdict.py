"""What follows from a worker's report. The worker brings evidence; here is decided what it proves."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from whilly.core.events import Blocked, Completed, Failed, Released, ReviewRequested
from whilly.core.evidence import CheckResult, Report
from whilly.core.money import Micros
from whilly.core.outcome import ENDINGS, MAX_ATTEMPTS, Outcome, Remedy, back_off
from whilly.core.plan import Check, Review
from whilly.core.task import Task

MAX_CLAIMS = 100
"""Claims in a task's whole life, counted or not, before a person has to look: it survives retries and resets."""

PARK_SECONDS = 60
"""How long to wait for a provider that did not say how long."""

LONGEST_PARK = timedelta(days=8)
"""A weekly limit resets within a week; anything longer was misread."""

Verdict = Completed | Failed | Released | Blocked | ReviewRequested


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, with the outcome that the evidence supports (the worker's word may claim more)."""

    verdict: Verdict
    outcome: Outcome
    reason: str


def judge(
    task: Task,
    report: Report,
    checks: tuple[Check, ...],
    now: datetime,
    *,
    budget: Micros | None = None,
    cause: str = "",
) -> Judged:
    """Decide what an ended attempt means for its task.

    `checks` are those of the plan and the task; `budget` is the task's own; `cause` says why a RELEASED attempt was
    given back. Checks that the report brings in addition (from the command line) count as well.
    """
    proved = prove(report, checks)
    if task.cancel_requested and proved.outcome is not Outcome.COMPLETED:
        proved = replace(proved, outcome=Outcome.CANCELLED, reason="Cancelled by a person.")
    return Judged(_follow(task, proved, checks, now, budget, cause), proved.outcome, proved.reason)


def prove(report: Report, checks: tuple[Check, ...]) -> Report:
    """The report with the outcome that its evidence supports: COMPLETED needs a commit and every required check."""
    if report.outcome is not Outcome.COMPLETED:
        return report
    if not report.head_commit or report.files_changed == 0:
        return replace(report, outcome=Outcome.NO_CHANGES, reason="Nothing differs from the base commit.")
    if missing := unproved(report, checks):
        return replace(report, outcome=Outcome.CHECKS_FAILED, reason=missing)
    return report


def unproved(report: Report, checks: tuple[Check, ...]) -> str:
    """Which required checks did not pass on the reported commit, as a sentence; empty when all did."""
    ran = {result.name: result for result in report.checks}
    complaints = [_complaint(name, ran.get(name), report.head_commit) for name in _required(report, checks)]
    return " ".join(complaint for complaint in complaints if complaint)


def _required(report: Report, checks: tuple[Check, ...]) -> list[str]:
    declared = {check.name: check.required for check in checks}
    for result in report.checks:
        declared.setdefault(result.name, result.required)
    return [name for name, required in declared.items() if required]


def _complaint(name: str, result: CheckResult | None, commit: str) -> str:
    if result is None:
        return f"Required check {name!r} did not run."
    if result.commit != commit:
        return f"Required check {name!r} ran on another commit."
    if result.passed:
        return ""
    how = result.note or (f"exit code {result.exit_code}" if result.exit_code is not None else "it was stopped")
    return f"Required check {name!r} failed: {how}."


def _follow(
    task: Task, report: Report, checks: tuple[Check, ...], now: datetime, budget: Micros | None, cause: str
) -> Verdict:
    outcome, reason = report.outcome, report.reason or ENDINGS[report.outcome].means
    if task.epoch >= MAX_CLAIMS and outcome is not Outcome.COMPLETED:
        return Blocked(f"Claimed {task.epoch} times without a result; the last time: {reason}", outcome=outcome)
    match ENDINGS[outcome].remedy:
        case Remedy.JUDGE if outcome is Outcome.COMPLETED:
            return _accept(task, report)
        case Remedy.JUDGE:
            return _repair_or_fail(task, report, checks, reason, budget)
        case Remedy.PERSON:
            return Blocked(reason, outcome=outcome)
        case Remedy.PAY:
            if _spent_up(task, budget):
                return Blocked(reason, outcome=outcome)
            return Released(outcome, reason, counted=False)
        case Remedy.FAIL:
            return Failed(outcome, reason, worker_of(task))
        case Remedy.RETURN:
            return Released(outcome, reason, counted=False, cause=cause)
        case Remedy.PARK:
            asked = PARK_SECONDS if report.retry_after_seconds is None else max(report.retry_after_seconds, 1)
            wait = timedelta(seconds=min(asked, LONGEST_PARK.total_seconds()))
            return Released(outcome, reason, parked_until=now + wait, counted=False)
        case Remedy.RETRY | Remedy.BACK_OFF as remedy:
            if task.attempts >= MAX_ATTEMPTS:
                said = f"{reason} That was attempt {task.attempts} of {MAX_ATTEMPTS}."
                return Failed(outcome, said, worker_of(task))
            if spent_up := _spent_up(task, budget):
                return Blocked(spent_up, outcome=Outcome.OVER_BUDGET)
            wait = timedelta(seconds=back_off(task.attempts)) if remedy is Remedy.BACK_OFF else timedelta(0)
            return Released(outcome, reason, parked_until=now + wait if wait else None)


def _accept(task: Task, report: Report) -> Completed | ReviewRequested:
    if task.review is Review.RESULT:
        return ReviewRequested(
            "result", "The result is verified and waits for a person.", report.head_commit, report.branch
        )
    return Completed(worker_of(task), report.head_commit, report.branch, report.usage.cost)


def _repair_or_fail(
    task: Task, report: Report, checks: tuple[Check, ...], reason: str, budget: Micros | None
) -> Released | Failed | Blocked:
    allowed = repairs_allowed(report, checks)
    if task.repairs >= allowed or task.attempts >= MAX_ATTEMPTS:
        return Failed(report.outcome, reason, worker_of(task))
    if spent_up := _spent_up(task, budget):
        return Blocked(spent_up, outcome=Outcome.OVER_BUDGET)
    return Released(report.outcome, reason, repair=True)


def worker_of(task: Task) -> str:
    """Who works on it; empty when nobody does."""
    return task.claim.worker if task.claim else ""


def repairs_allowed(report: Report, checks: tuple[Check, ...]) -> int:
    """How many repair attempts the failed required checks grant: the most generous one decides."""
    declared = {check.name: check.repair_max_attempts for check in checks if check.required}
    passed = {result.name for result in report.checks if result.passed and result.commit == report.head_commit}
    for result in report.checks:
        if result.required:
            declared.setdefault(result.name, 1)
    return max((most for name, most in declared.items() if name not in passed), default=0)


def _spent_up(task: Task, budget: Micros | None) -> str:
    if budget is not None and task.spent >= budget:
        return "The task's own budget is used up."
    return ""
