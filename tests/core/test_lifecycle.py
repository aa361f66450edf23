"""The state machine, edge by edge."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core import lifecycle
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
from whilly.core.lifecycle import EDGES, advance, is_told
from whilly.core.outcome import Outcome
from whilly.core.plan import FINISHED, RUNNING, Status
from whilly.core.task import Claim, Task

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LEASE = timedelta(seconds=60)

ONE_OF_EACH: list[TaskEvent] = [
    Claimed("w", "c", NOW, LEASE, 5),
    Started(),
    Completed("w", "commit", "branch", 3),
    Failed(Outcome.REFUSED, "No."),
    Released(Outcome.LOST_WORKER, "Gone."),
    ReviewRequested("result", "Look.", "commit", "branch"),
    ReviewApproved("ada"),
    ReviewRejected("ada"),
    ChangesRequested("ada", "Better."),
    PrerequisiteDone("T0"),
    Blocked("Stuck."),
    Unblocked("T0"),
    Skipped("Not now."),
    Retried("ada"),
    Reset(unmet=1),
    CancelRequested("ada"),
]


def in_status(status: Status, **more: object) -> Task:
    claim = Claim("w", "c", NOW, NOW + LEASE) if status in RUNNING else None
    unmet = 1 if status in (Status.BLOCKED, Status.DONE, Status.FAILED, Status.SKIPPED) else 0
    return replace(Task("p", "T", status, unmet=unmet, claim=claim, epoch=1, attempts=1), **more)  # type: ignore[arg-type]


def test_every_event_has_edges_and_an_example() -> None:
    assert {type(event) for event in ONE_OF_EACH} == set(EDGES)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("status", list(Status))
def test_an_event_leads_where_the_table_says_or_is_refused(status: Status, event: TaskEvent) -> None:
    task = in_status(status, unmet=1) if isinstance(event, PrerequisiteDone) else in_status(status)
    targets = EDGES[type(event)].get(status)

    if targets is None:
        with pytest.raises(IllegalTransition, match=event.type.replace(".", r"\.")):
            advance(task, event)
    else:
        after = advance(task, event)
        assert after.status in targets
        assert after.version == task.version + 1
        assert (after.claim is not None) == (after.status in RUNNING)
        assert after.reserved == 0 or after.claim is not None


@given(st.lists(st.sampled_from(ONE_OF_EACH), max_size=40))
def test_no_history_breaks_what_must_hold(history: list[TaskEvent]) -> None:
    task = Task("p", "T", Status.PENDING)
    for event in history:
        before = task
        if isinstance(event, PrerequisiteDone) and not task.unmet:
            continue
        try:
            task = advance(task, event)
        except IllegalTransition:
            continue
        assert task.epoch == before.epoch + isinstance(event, Claimed)
        assert (task.claim is not None) == (task.status in RUNNING)
        assert task.unmet >= 0
        assert task.attempts >= 0
        if before.status is Status.DONE and task.status is not Status.DONE:
            assert isinstance(event, Reset)
        if before.status in FINISHED and task.status is Status.PENDING:
            assert isinstance(event, Reset | Retried)


def test_a_task_with_unfinished_prerequisites_cannot_be_claimed() -> None:
    with pytest.raises(IllegalTransition, match="waiting for 2"):
        advance(Task("p", "T", Status.PENDING, unmet=2), ONE_OF_EACH[0])


@pytest.mark.parametrize(("counted", "left"), [(True, 1), (False, 0)])
def test_a_release_counts_as_an_attempt_or_not(counted: bool, left: int) -> None:
    after = advance(in_status(Status.IN_PROGRESS), Released(Outcome.RELEASED, "", counted=counted))
    assert after.attempts == left


def test_approval_means_done_after_the_work_and_go_before_it() -> None:
    asked_before = in_status(Status.HUMAN_LOOP)
    asked_after = in_status(Status.HUMAN_LOOP, result_commit="commit")

    assert advance(asked_before, ReviewApproved("ada")).status is Status.PENDING
    assert advance(asked_before, ReviewApproved("ada")).approved
    assert advance(asked_after, ReviewApproved("ada")).status is Status.DONE


def test_only_the_last_prerequisite_is_news() -> None:
    waiting = Task("p", "T", Status.PENDING, unmet=2)
    once = advance(waiting, PrerequisiteDone("A"))
    twice = advance(once, PrerequisiteDone("B"))

    assert not is_told(once, PrerequisiteDone("A"))
    assert is_told(twice, PrerequisiteDone("B"))


def test_the_drawing_shows_every_edge_once() -> None:
    drawn = lifecycle.diagram()
    arrows = {
        (source, target)
        for edges in EDGES.values()
        for source, targets in edges.items()
        for target in targets
        if source is not target
    }
    assert all(drawn.count(f"    {source} --> {target}:") == 1 for source, target in arrows)
