"""What happened, as a person would say it."""

from collections import defaultdict
from typing import Any

from whilly.operations.read_events import StoredEvent

SENTENCES = {
    "CLAIM": "was claimed by {worker_id}",
    "START": "started with {agent}",
    "COMPLETE": "is done",
    "FAIL": "failed: {error}",
    "RELEASE": "went back to the queue: {error}",
    "RESET": "was reset",
    "human_review.required": "waits for a decision",
    "human_review.approved": "was approved by {reviewer}: {comment}",
    "human_review.rejected": "was rejected by {reviewer}: {comment}",
    "human_review.changes_requested": "goes back with a wish of {reviewer}: {comment}",
    "task.created": "was added",
    "task.removed": "was removed",
    "task.ready": "is ready, now that {after} is done",
    "task.blocked": "is blocked: {reason}",
    "task.unblocked": "is free again: {prerequisite} is tried once more",
    "task.skipped": "was skipped: {reason}",
    "task.retried": "is tried again, as {by} asked",
    "task.cancel_requested": "is being cancelled by {by}",
    "repair.attempt.requested": "gets a repair attempt",
    "repair.escalated": "was given up after repair: {reason}",
    "workspace.prepared": "has its own workspace",
    "llm.run_started": "has its agent at work",
    "llm.run_finished": "has heard from its agent",
    "llm.run_failed": "has an agent that failed: {error}",
    "llm.run_cancelled": "has no agent any more: it was stopped",
    "verification.started": "is being verified",
    "verification.succeeded": "passed {name}",
    "verification.failed": "did not pass {name}",
    "verification.warning": "did not pass the optional {name}",
    "plan.created": "The plan was created",
    "plan.applied": "The plan was applied: {tasks_count} tasks, {skipped_count} skipped, {warned_count} with a warning",
    "plan.paused": "The plan was paused: {reason}",
    "plan.resumed": "The plan goes on",
    "plan.budget_set": "The budget was set to {budget_usd} USD",
    "plan.budget_warning": "{spent_usd} of the budget of {budget_usd} USD are spent",
    "plan.budget_exceeded": "The budget of {budget_usd} USD is used up",
    "plan.daily_budget_set": "The budget per day was set to {budget_usd} USD",
    "plan.daily_budget_warning": "{spent_usd} of the {budget_usd} USD for today are spent",
    "plan.daily_budget_exceeded": "The {budget_usd} USD for today are spent",
}
"""By event type; a type that is not here is shown by its name."""


def sentence_for(event: StoredEvent) -> str:
    """A sentence, for the task that the line begins with or for the plan."""
    pattern = SENTENCES.get(event.type)
    if pattern is None:
        return event.type
    if event.payload.get("reason") == "decision_gate_failed":
        pattern = "was refused by the gate: {missing}"
    words: defaultdict[str, str] = defaultdict(str, {name: _word(value) for name, value in event.payload.items()})
    return " ".join(pattern.format_map(words).split()).rstrip(": ")


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
