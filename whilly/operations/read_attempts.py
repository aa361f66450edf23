"""What there is to see of a task's attempts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from whilly.core.errors import Refused
from whilly.core.evidence import CheckResult, Usage
from whilly.operations.read_plans import TaskView, task_view
from whilly.store.database import Database
from whilly.store.specs import from_json


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt from its claim to its end."""

    epoch: int
    worker: str
    agent: str
    agent_version: str
    model: str
    session: str
    claimed_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    phase: str
    outcome: str
    """Empty while it runs."""
    reason: str
    summary: str
    comment: str
    base_commit: str
    head_commit: str
    branch: str
    kept_ref: str
    files_changed: int
    exit_code: int | None
    usage: Usage
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """A task with everything that was tried."""

    view: TaskView
    attempts: tuple[AttemptView, ...]
    """Oldest first."""


async def task_detail(database: Database, plan: str, task: str) -> TaskDetail:
    """A task and its attempts. Raises UnknownPlan, UnknownTask."""
    view = await task_view(database, plan, task)
    return TaskDetail(view, tuple(_attempt(row) for row in await database.read("attempts_of_task", plan, task)))


async def transcript(database: Database, plan: str, task: str, epoch: int | None = None) -> str:
    """What the agent printed in an attempt, or in the newest one. Raises UnknownPlan, UnknownTask, Refused."""
    detail = await task_detail(database, plan, task)
    known = [attempt.epoch for attempt in detail.attempts]
    if not known:
        raise Refused(f"Task {task} has not been tried yet, so there is no transcript.")
    if epoch is not None and epoch not in known:
        raise Refused(f"Task {task} has no attempt {epoch}; it has {', '.join(map(str, known))}.")
    rows = await database.read("transcript_of_attempt", plan, task, known[-1] if epoch is None else epoch)
    return "".join(row["text"] for row in rows)


def _attempt(row: Any) -> AttemptView:
    usage = Usage(
        row["cost_micros"],
        row["input_tokens"],
        row["output_tokens"],
        row["cache_read_tokens"],
        row["cache_write_tokens"],
    )
    return AttemptView(
        epoch=row["epoch"],
        worker=row["worker_id"],
        agent=row["agent"],
        agent_version=row["agent_version"],
        model=row["model"],
        session=row["session"],
        claimed_at=row["claimed_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        phase=row["phase"],
        outcome=row["outcome"] or "",
        reason=row["reason"],
        summary=row["summary"],
        comment=row["comment"],
        base_commit=row["base_commit"],
        head_commit=row["head_commit"],
        branch=row["branch"],
        kept_ref=row["kept_ref"],
        files_changed=row["files_changed"],
        exit_code=row["exit_code"],
        usage=usage,
        checks=from_json(tuple[CheckResult, ...], row["checks"]),
    )
