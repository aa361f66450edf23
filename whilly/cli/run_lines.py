"""What happens during a run, as lines for a pipe or a log file."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from whilly.core.money import from_usd, shown
from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from whilly.operations.read_events import StoredEvent


_ENDS_WITHOUT_RESULT = frozenset({"FAIL", "RELEASE", "task.blocked"})


def line_for(event: "StoredEvent") -> str | None:
    """One line about an event that somebody who waits wants to see; None for the others."""
    said = _sentence(event.type, event.payload)
    if said is None:
        return None
    if event.type in _ENDS_WITHOUT_RESULT and event.detail and event.detail.get("kept_ref"):
        said += f" (what it left: {event.detail['kept_ref']})"
    return one_line(f"{event.at.astimezone():%H:%M:%S} {event.task or event.plan}: {said}", 240)


def _sentence(kind: str, payload: dict[str, Any]) -> str | None:
    match kind:
        case "CLAIM":
            return f"claimed by {payload.get('worker_id')}"
        case "START":
            return f"{payload.get('agent')} starts on {str(payload.get('base_commit'))[:12]}"
        case "COMPLETE":
            return f"DONE, {_place(payload)}"
        case "FAIL":
            return f"FAILED ({payload.get('reason')}): {payload.get('error')}"
        case "RELEASE":
            again = "a repair attempt follows" if payload.get("repair") else "back in the queue"
            return f"{payload.get('reason')}: {payload.get('error')} — {again}{_until(payload)}"
        case "verification.succeeded" | "verification.failed" | "verification.warning":
            return f"check {payload.get('name')}: {kind.removeprefix('verification.')}"
        case "human_review.required":
            when = "before it starts" if payload.get("stage_id") == "before" else "about its result"
            return f"waits for a person's decision {when}"
        case "human_review.approved" | "human_review.rejected" | "human_review.changes_requested":
            return f"{payload.get('decision')} by {payload.get('reviewer')}"
        case (
            "plan.budget_exceeded" | "plan.daily_budget_exceeded" | "plan.budget_warning" | "plan.daily_budget_warning"
        ):
            budget, spent = (shown(from_usd(payload[name])) for name in ("budget_usd", "spent_usd"))
            per_day = " for today" if "daily" in kind else ""
            gone = "used up" if kind.endswith("exceeded") else "nearly used up"
            return f"the budget{per_day} of {budget} is {gone} ({spent} spent)"
        case "task.blocked" | "task.skipped":
            return f"{kind.removeprefix('task.').upper()}: {payload.get('reason')}"
        case "task.cancel_requested":
            return f"cancelled by {payload.get('by')}; its agent is being stopped"
        case "plan.paused" | "system.paused" | "plan.resumed" | "system.resumed":
            return f"{kind.split('.')[1]}: {payload['reason']}" if payload.get("reason") else kind.split(".")[1]
        case _:
            return None


def _place(payload: dict[str, Any]) -> str:
    commit = str(payload.get("commit") or "")[:12]
    return f"{payload.get('branch')} at {commit}" if commit else "with its earlier result"


def _until(payload: dict[str, Any]) -> str:
    if not payload.get("parked_until"):
        return ""
    until = datetime.fromisoformat(payload["parked_until"]).astimezone()
    today = until.date() == datetime.now(until.tzinfo).date()
    return f", not before {until:%H:%M:%S}" if today else f", not before {until:%Y-%m-%d %H:%M}"
