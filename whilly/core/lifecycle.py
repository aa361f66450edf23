"""The state machine: (task, event) → task. The only place where a status changes, and the source of its drawing."""

from dataclasses import replace

from whilly.core.errors import IllegalTransition
from whilly.core.events import (
    Blocked,
    CancelRequested,
    ChangesRequested,
    Claimed,
    Completed,
    Failed,
    PrerequisiteDone,
    Released,
    Reset,
    Retried,
    ReviewApproved,
    ReviewRejected,
    ReviewRequested,
    Skipped,
    Started,
    TaskEvent,
    Unblocked,
)
from whilly.core.money import Micros
from whilly.core.plan import RUNNING, Status
from whilly.core.task import Claim, Task

_PENDING, _CLAIMED, _IN_PROGRESS = Status.PENDING, Status.CLAIMED, Status.IN_PROGRESS
_HUMAN_LOOP, _BLOCKED, _DONE = Status.HUMAN_LOOP, Status.BLOCKED, Status.DONE
_FAILED, _SKIPPED = Status.FAILED, Status.SKIPPED

EDGES: dict[type, dict[Status, tuple[Status, ...]]] = {
    Claimed: {_PENDING: (_CLAIMED,)},
    Started: {_CLAIMED: (_IN_PROGRESS,)},
    Completed: {_CLAIMED: (_DONE,), _IN_PROGRESS: (_DONE,)},
    Failed: dict.fromkeys((_PENDING, _CLAIMED, _IN_PROGRESS, _HUMAN_LOOP, _BLOCKED), (_FAILED,)),
    Released: {_CLAIMED: (_PENDING,), _IN_PROGRESS: (_PENDING,)},
    ReviewRequested: dict.fromkeys((_PENDING, _CLAIMED, _IN_PROGRESS), (_HUMAN_LOOP,)),
    ReviewApproved: {_HUMAN_LOOP: (_DONE, _PENDING)},
    ReviewRejected: {_HUMAN_LOOP: (_FAILED,)},
    ChangesRequested: {_HUMAN_LOOP: (_PENDING,)},
    PrerequisiteDone: {status: (status,) for status in (_PENDING, _HUMAN_LOOP, _BLOCKED, _DONE, _FAILED, _SKIPPED)},
    Blocked: dict.fromkeys((_PENDING, _CLAIMED, _IN_PROGRESS, _BLOCKED), (_BLOCKED,)),
    Unblocked: {_BLOCKED: (_PENDING,)},
    Skipped: dict.fromkeys((_PENDING, _HUMAN_LOOP, _BLOCKED, _FAILED), (_SKIPPED,)),
    Retried: dict.fromkeys((_BLOCKED, _FAILED, _SKIPPED), (_PENDING,)),
    Reset: {status: (_PENDING,) for status in Status if status not in RUNNING},
    CancelRequested: {_CLAIMED: (_CLAIMED,), _IN_PROGRESS: (_IN_PROGRESS,)},
}
"""Which event may happen in which status, and where it leads. What is not listed is refused."""


def advance(task: Task, event: TaskEvent) -> Task:
    """The task after the event. Raises IllegalTransition for what `EDGES` does not list."""
    targets = EDGES[type(event)].get(task.status)
    if targets is None:
        raise IllegalTransition(task.id, task.status.value, event.type)
    moved = _after(task, event, targets[0])
    return replace(moved, version=task.version + 1)


def settle(task: Task, charge: Micros) -> Task:
    """The task with the price of its ended attempt booked: part of the same change that ends the attempt."""
    return replace(task, spent=max(task.spent + charge, 0))


def is_told(after: Task, event: TaskEvent) -> bool:
    """Whether the event is stored: a prerequisite that was not the last one to wait for says nothing new."""
    if isinstance(event, PrerequisiteDone):
        return after.unmet == 0 and after.status is _PENDING
    return True


def _after(task: Task, event: TaskEvent, target: Status) -> Task:
    match event:
        case Claimed():
            return _claimed(task, event)
        case Released():
            return _released(task, event)
        case Completed(commit=commit, branch=branch):
            return replace(_free(task), status=target, reason="", result_commit=commit, result_branch=branch)
        case ReviewRequested(reason=reason, commit=commit, branch=branch):
            return replace(_free(task), status=target, reason=reason, result_commit=commit, result_branch=branch)
        case Failed(reason=reason) | Blocked(reason=reason) | Skipped(reason=reason):
            blocked_by = event.prerequisite if isinstance(event, Blocked) else ""
            return replace(_free(task), status=target, reason=reason, blocked_by=blocked_by, parked_until=None)
        case ReviewApproved():
            if task.result_commit:
                return replace(task, status=_DONE, reason="")
            return replace(task, status=_PENDING, reason="", approved=True)
        case ReviewRejected(comment=comment, reviewer=reviewer):
            said = f": {comment}" if comment else "."
            return replace(task, status=target, reason=f"Rejected by {reviewer}{said}")
        case ChangesRequested(comment=comment):
            return replace(_afresh(task), status=target, reason=f"Changes requested: {comment}")
        case PrerequisiteDone():
            return replace(task, unmet=task.unmet - 1)
        case Unblocked() | Retried():
            return replace(_afresh(task), status=target)
        case Reset(unmet=unmet):
            return replace(_afresh(task), status=target, unmet=unmet, approved=False)
        case CancelRequested():
            return replace(task, cancel_requested=True)
        case Started():
            return replace(task, status=target)


def _claimed(task: Task, event: Claimed) -> Task:
    if task.unmet:
        raise IllegalTransition(task.id, f"waiting for {task.unmet} prerequisites", event.type)
    return replace(
        task,
        status=_CLAIMED,
        epoch=task.epoch + 1,
        attempts=task.attempts + 1,
        claim=Claim(event.worker, event.claim_id, since=event.at, lease_until=event.at + event.lease),
        reserved=event.reserved,
        parked_until=None,
        reason="",
    )


def _released(task: Task, event: Released) -> Task:
    return replace(
        _free(task),
        status=_PENDING,
        attempts=task.attempts if event.counted else task.attempts - 1,
        repairs=task.repairs + event.repair,
        parked_until=event.parked_until,
        reason=event.reason,
    )


def _free(task: Task) -> Task:
    """Without its claim: the attempt is over."""
    return replace(task, claim=None, reserved=0, cancel_requested=False)


def _afresh(task: Task) -> Task:
    return replace(
        task,
        attempts=0,
        repairs=0,
        parked_until=None,
        reason="",
        blocked_by="",
        result_commit="",
        result_branch="",
        cancel_requested=False,
    )


def diagram() -> str:
    """The state machine as a Mermaid drawing; the documentation shows exactly this."""
    arrows: dict[tuple[Status, Status], list[str]] = {}
    for kind, edges in EDGES.items():
        for source, targets in edges.items():
            for target in targets:
                if source is not target:
                    arrows.setdefault((source, target), []).append(kind.type)  # type: ignore[attr-defined]
    lines = ["stateDiagram-v2", "    [*] --> PENDING: task.created"]
    lines += [f"    {source} --> {target}: {', '.join(types)}" for (source, target), types in sorted(arrows.items())]
    return "\n".join(lines) + "\n"
