"""What the API says about plans, tasks and events. Names are those that clients rely on; money is in dollars."""

from typing import Any

from whilly.core.money import Micros, to_usd
from whilly.core.plan import Check, Plan, Review
from whilly.operations.read_attempts import AttemptView
from whilly.operations.read_events import StoredEvent
from whilly.operations.read_plans import PlanSummary, TaskView
from whilly.operations.read_task_page import ListedTask

Told = dict[str, Any]


def usd(amount: Micros | None) -> float | None:
    """Dollars for a JSON number; None is unknown or unlimited."""
    return None if amount is None else float(to_usd(amount))


def told_summary(summary: PlanSummary) -> Told:
    """A plan in a list."""
    return {
        "id": summary.id,
        "name": summary.project,
        "counts": {status.value: count for status, count in summary.counts.items()},
        "budget_usd": usd(summary.budget),
        "spent_usd": usd(summary.spent),
        "reserved_usd": usd(summary.reserved),
        "paused": summary.paused,
    }


def told_plan(summary: PlanSummary, plan: Plan) -> Told:
    """A plan by itself."""
    origin = plan.origin
    return {
        **told_summary(summary),
        "github_issue_ref": origin.ref if origin and origin.system == "github" else None,
        "prd_file": (origin.prd_file or None) if origin else None,
        "verification_commands": [_told_check(check) for check in plan.checks],
        "origin": origin,
        "repo_targets": plan.repo_targets,
        "agent": plan.agent or None,
        "timeout_minutes": plan.timeout_minutes,
        "review": plan.review.value,
    }


def told_task(view: TaskView) -> Told:
    """A task with the reason why it is where it is."""
    task, spec = view.task, view.spec
    return {
        "id": task.id,
        "plan_id": task.plan,
        "status": task.status.value,
        "priority": spec.priority.word,
        "description": spec.description,
        "dependencies": spec.dependencies,
        "key_files": spec.key_files,
        "acceptance_criteria": spec.acceptance_criteria,
        "test_steps": spec.test_steps,
        "prd_requirement": spec.prd_requirement,
        "repo_target_id": spec.repo_target_id or None,
        "version": task.version,
        "epoch": task.epoch,
        "attempts": task.attempts,
        "claimed_by": task.claim.worker if task.claim else None,
        "claimed_at": task.claim.since if task.claim else None,
        "parked_until": task.parked_until,
        "cancel_requested": task.cancel_requested,
        "phase": view.phase or None,
        "last_line": view.last_line or None,
        "agent": view.agent or None,
        "spent_usd": usd(task.spent),
        "result_commit": task.result_commit or None,
        "result_branch": task.result_branch or None,
        "why": {"code": view.why.code, "sentence": view.why.sentence, "remedy": view.why.remedy},
    }


def told_attempt(attempt: AttemptView) -> Told:
    """An attempt with its evidence."""
    usage = attempt.usage
    return {
        "epoch": attempt.epoch,
        "worker_id": attempt.worker,
        "agent": attempt.agent,
        "agent_version": attempt.agent_version,
        "model": attempt.model,
        "claimed_at": attempt.claimed_at,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "phase": attempt.phase,
        "outcome": attempt.outcome or None,
        "reason": attempt.reason,
        "summary": attempt.summary,
        "base_commit": attempt.base_commit,
        "head_commit": attempt.head_commit,
        "branch": attempt.branch,
        "kept_ref": attempt.kept_ref,
        "files_changed": attempt.files_changed,
        "exit_code": attempt.exit_code,
        "cost_usd": usd(usage.cost),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "checks": attempt.checks,
    }


def told_listed(listed: ListedTask) -> Told:
    """A row of `GET /api/v1/tasks`."""
    task, spec, review = listed.task, listed.spec, listed.review
    decision = review.event.removeprefix("human_review.")
    return {
        "id": task.id,
        "plan_id": task.plan,
        "status": task.status.value,
        "priority": listed.priority.word,
        "claimed_by": task.claim.worker if task.claim else None,
        "claimed_at": listed.claimed_at,
        "version": task.version,
        "key_files": spec.key_files,
        "description": spec.description,
        "acceptance_criteria": spec.acceptance_criteria,
        "test_steps": spec.test_steps,
        "human_review": {
            "required": task.review is not Review.NONE or task.status.value == "HUMAN_LOOP",
            "decision": decision if decision in {"approved", "rejected", "changes_requested"} else None,
            "stage_id": review.stage or None,
            "reason": review.reason or None,
            "reviewer": review.reviewer or None,
        },
    }


def told_event(event: StoredEvent) -> Told:
    """An event of the log."""
    return {
        "event_id": event.position,
        "event_type": event.type,
        "plan_id": event.plan,
        "task_id": event.task,
        "at": event.at,
        "payload": event.payload,
        "detail": event.detail,
        "hash": event.hash.hex(),
    }


def _told_check(check: Check) -> Told:
    return {
        "name": check.name,
        "command": check.command,
        "required": check.required,
        "source": check.source,
        "repair_max_attempts": check.repair_max_attempts,
        "timeout_seconds": check.timeout_seconds,
    }
