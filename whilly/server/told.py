"""From what is stored to what the API says about it."""

from typing import Any

from whilly.core.money import Micros, to_usd
from whilly.core.plan import Plan, Review
from whilly.core.why import Why
from whilly.operations.read_attempts import AttemptView, TaskDetail
from whilly.operations.read_board import WaitsForPerson
from whilly.operations.read_events import StoredEvent
from whilly.operations.read_plans import PlanOverview, PlanSummary, TaskView
from whilly.operations.read_task_page import ListedTask
from whilly.operations.read_workers import WorkerView
from whilly.wire.log import EventTold, WorkerTold
from whilly.wire.plans import PlanListed, PlanTold
from whilly.wire.tasks import (
    AttemptTold,
    EvidenceTold,
    OverviewTold,
    ReviewTold,
    TaskInPlan,
    TaskListed,
    TaskTold,
    WaitsTold,
    WhyTold,
)


def usd(amount: Micros) -> float:
    """Dollars for a JSON number."""
    return float(to_usd(amount))


def usd_if_known(amount: Micros | None) -> float | None:
    """The same; None is unknown or unlimited."""
    return None if amount is None else usd(amount)


def told_summary(summary: PlanSummary) -> PlanListed:
    """A plan in a list."""
    return PlanListed(**_summary(summary))


def told_plan(summary: PlanSummary, plan: Plan) -> PlanTold:
    """A plan by itself."""
    origin = plan.origin
    return PlanTold(
        **_summary(summary),
        github_issue_ref=origin.ref if origin and origin.system == "github" else None,
        prd_file=(origin.prd_file or None) if origin else None,
        verification_commands=plan.checks,
        origin=origin,
        repo_targets=plan.repo_targets,
        agent=plan.agent or None,
        timeout_minutes=plan.timeout_minutes,
        review=plan.review.value,
    )


def _summary(summary: PlanSummary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "name": summary.project,
        "counts": {status.value: count for status, count in summary.counts.items()},
        "budget_usd": usd_if_known(summary.budget),
        "spent_usd": usd(summary.spent),
        "reserved_usd": usd(summary.reserved),
        "daily_budget_usd": usd_if_known(summary.daily_budget),
        "spent_today_usd": usd(summary.spent_today),
        "paused": summary.paused,
        "asks_about_budget": summary.asks_about_budget,
    }


def told_task(detail: TaskDetail) -> TaskTold:
    """A task with the reason why it is where it is, and all that was tried."""
    view = detail.view
    task, spec = view.task, view.spec
    return TaskTold(
        id=task.id,
        plan_id=task.plan,
        status=task.status.value,
        priority=spec.priority.word,
        description=spec.description,
        dependencies=spec.dependencies,
        key_files=spec.key_files,
        acceptance_criteria=spec.acceptance_criteria,
        test_steps=spec.test_steps,
        prd_requirement=spec.prd_requirement,
        repo_target_id=spec.repo_target_id or None,
        version=task.version,
        epoch=task.epoch,
        attempts=task.attempts,
        claimed_by=task.claim.worker if task.claim else None,
        claimed_at=task.claim.since if task.claim else None,
        parked_until=task.parked_until,
        cancel_requested=task.cancel_requested,
        phase=view.phase or None,
        last_line=view.last_line or None,
        agent=view.agent or None,
        spent_usd=usd_if_known(task.spent),
        result_commit=task.result_commit or None,
        result_branch=task.result_branch or None,
        why=told_why(view.why),
        history=tuple(told_attempt(attempt) for attempt in detail.attempts),
    )


def told_overview(overview: PlanOverview, next_cursor: str | None) -> OverviewTold:
    """Tasks of a plan, each with the reason why it is where it is."""
    return OverviewTold(overview.summary.id, overview.at, tuple(_line(view) for view in overview.tasks), next_cursor)


def _line(view: TaskView) -> TaskInPlan:
    task, spec = view.task, view.spec
    return TaskInPlan(
        id=task.id,
        status=task.status.value,
        priority=spec.priority.word,
        description=spec.description,
        dependencies=spec.dependencies,
        why=told_why(view.why),
        phase=view.phase or None,
        last_line=view.last_line or None,
        attempts=task.attempts,
        spent_usd=usd(task.spent),
        result_branch=task.result_branch or None,
    )


def told_why(why: Why) -> WhyTold:
    """The reason why a task is where it is."""
    return WhyTold(why.code, why.sentence, why.remedy)


def told_attempt(attempt: AttemptView) -> AttemptTold:
    """An attempt with its evidence."""
    usage = attempt.usage
    return AttemptTold(
        epoch=attempt.epoch,
        worker_id=attempt.worker,
        agent=attempt.agent,
        agent_version=attempt.agent_version,
        model=attempt.model,
        claimed_at=attempt.claimed_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        phase=attempt.phase,
        outcome=attempt.outcome or None,
        reason=attempt.reason,
        summary=attempt.summary,
        base_commit=attempt.base_commit,
        head_commit=attempt.head_commit,
        branch=attempt.branch,
        kept_ref=attempt.kept_ref,
        files_changed=attempt.files_changed,
        exit_code=attempt.exit_code,
        cost_usd=usd_if_known(usage.cost),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        checks=attempt.checks,
    )


def told_evidence(plan: str, task: str, attempt: AttemptView) -> EvidenceTold:
    """What an attempt proved."""
    return EvidenceTold(
        plan_id=plan,
        task_id=task,
        epoch=attempt.epoch,
        outcome=attempt.outcome or None,
        reason=attempt.reason,
        base_commit=attempt.base_commit,
        head_commit=attempt.head_commit,
        branch=attempt.branch,
        kept_ref=attempt.kept_ref,
        files_changed=attempt.files_changed,
        checks=attempt.checks,
    )


def told_waiting(plan: str, waiting: WaitsForPerson) -> WaitsTold:
    """A task that waits for a person."""
    return WaitsTold(
        id=waiting.id,
        plan_id=plan,
        status=waiting.status.value,
        description=waiting.spec.description,
        reason=waiting.reason,
        result_branch=waiting.branch or None,
        result_commit=waiting.commit or None,
        epoch=waiting.epoch,
        summary=waiting.summary,
        files_changed=waiting.files_changed,
        cost_usd=usd_if_known(waiting.cost),
        checks=waiting.checks,
        kept_ref=waiting.kept_ref,
    )


def told_listed(listed: ListedTask) -> TaskListed:
    """A row of `GET /api/v1/tasks`."""
    task, spec, review = listed.task, listed.spec, listed.review
    decision = review.event.removeprefix("human_review.")
    return TaskListed(
        id=task.id,
        plan_id=task.plan,
        status=task.status.value,
        priority=listed.priority.word,
        claimed_by=task.claim.worker if task.claim else None,
        claimed_at=listed.claimed_at,
        version=task.version,
        key_files=spec.key_files,
        description=spec.description,
        acceptance_criteria=spec.acceptance_criteria,
        test_steps=spec.test_steps,
        human_review=ReviewTold(
            required=task.review is not Review.NONE or task.status.value == "HUMAN_LOOP",
            decision=decision if decision in {"approved", "rejected", "changes_requested"} else None,
            stage_id=review.stage or None,
            reason=review.reason or None,
            reviewer=review.reviewer or None,
        ),
    )


def told_event(event: StoredEvent) -> EventTold:
    """An event of the log."""
    return EventTold(
        event_id=event.position,
        event_type=event.type,
        plan_id=event.plan,
        task_id=event.task,
        at=event.at,
        payload=event.payload,
        detail=event.detail,
        hash=event.hash.hex(),
    )


def told_worker(worker: WorkerView) -> WorkerTold:
    """A worker in a list."""
    return WorkerTold(
        id=worker.id,
        hostname=worker.hostname,
        agents=worker.agents,
        tags=worker.tags,
        isolation=worker.isolation,
        slots=worker.slots,
        free_disk_bytes=worker.free_disk_bytes,
        plan_id=worker.plan,
        online=worker.online,
        draining=worker.draining,
        state=worker.state,
        registered_at=worker.registered_at,
        last_seen=worker.last_seen,
    )
