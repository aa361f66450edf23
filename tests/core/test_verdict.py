"""What the evidence proves. Most of it is told as stories in tests/operations; here are the edges."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.events import Blocked, Completed, Failed, Released, ReviewRequested
from whilly.core.evidence import CheckResult, Report
from whilly.core.outcome import BACK_OFF_SECONDS, ENDINGS, MAX_ATTEMPTS, Outcome, back_off
from whilly.core.plan import Check, Review, Status
from whilly.core.task import Claim, Task
from whilly.core.verdict import LONGEST_PARK, MAX_CLAIMS, judge

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TASK = Task("p", "T", Status.IN_PROGRESS, epoch=1, attempts=1, claim=Claim("w", "c", NOW, NOW))
PROVED = Report(Outcome.COMPLETED, head_commit="c", files_changed=1)


def test_every_outcome_has_an_ending_with_advice() -> None:
    assert set(ENDINGS) == set(Outcome)
    assert all(ending.means.endswith(".") and ending.advice for ending in ENDINGS.values())


def test_the_waits_are_those_that_were_promised() -> None:
    assert [back_off(n) for n in range(1, 8)] == [*BACK_OFF_SECONDS, 60, 60]


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.COMPLETED])
@given(attempts=st.integers(1, MAX_ATTEMPTS), repairs=st.integers(0, 3), epoch=st.integers(1, 200))
def test_nothing_but_proof_makes_a_task_done(outcome: Outcome, attempts: int, repairs: int, epoch: int) -> None:
    task = replace(TASK, attempts=attempts, repairs=repairs, epoch=epoch)

    judged = judge(task, replace(PROVED, outcome=outcome), (), NOW)

    assert not isinstance(judged.verdict, Completed | ReviewRequested)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans(), st.booleans(), st.sampled_from(["c", "other"])),
        unique_by=lambda check: check[0],
    )
)
def test_done_means_that_every_required_check_passed_on_that_commit(ran: list[tuple[str, bool, bool, str]]) -> None:
    declared = (Check("a", "run a"), Check("b", "run b", required=False))
    results = tuple(CheckResult(name, "x", required, passed, 0, commit, 1) for name, required, passed, commit in ran)
    good = {name for name, _, passed, commit in ran if passed and commit == "c"}
    required = {"a"} | {name for name, needed, _, _ in ran if needed and name == "c"}

    judged = judge(TASK, replace(PROVED, checks=results), declared, NOW)

    assert isinstance(judged.verdict, Completed) == (required <= good)


def test_a_cancelled_attempt_that_was_complete_all_the_same_counts() -> None:
    assert isinstance(judge(replace(TASK, cancel_requested=True), PROVED, (), NOW).verdict, Completed)


@pytest.mark.parametrize("outcome", [Outcome.RATE_LIMITED, Outcome.LOST_WORKER, Outcome.RELEASED])
def test_a_cancelled_attempt_is_not_tried_again_whatever_its_worker_says(outcome: Outcome) -> None:
    judged = judge(replace(TASK, cancel_requested=True), Report(outcome), (), NOW)

    assert judged.outcome is Outcome.CANCELLED
    assert isinstance(judged.verdict, Failed)


@pytest.mark.parametrize(
    ("asked", "wait"),
    [(None, timedelta(seconds=60)), (0, timedelta(seconds=1)), (7, timedelta(seconds=7)), (10**9, LONGEST_PARK)],
)
def test_a_provider_is_waited_for_as_long_as_it_says_within_reason(asked: int | None, wait: timedelta) -> None:
    verdict = judge(TASK, Report(Outcome.RATE_LIMITED, retry_after_seconds=asked), (), NOW).verdict

    assert isinstance(verdict, Released)
    assert verdict.parked_until == NOW + wait
    assert not verdict.counted


@pytest.mark.parametrize("seconds", [10**9, 10**30])
def test_a_provider_that_names_no_sensible_time_is_asked_again_in_a_week(seconds: int) -> None:
    verdict = judge(TASK, Report(Outcome.QUOTA_EXHAUSTED, retry_after_seconds=seconds), (), NOW).verdict

    assert isinstance(verdict, Released)
    assert verdict.parked_until == NOW + LONGEST_PARK


def test_a_task_that_is_handed_out_for_ever_ends_with_a_person() -> None:
    verdict = judge(replace(TASK, epoch=MAX_CLAIMS), Report(Outcome.RELEASED), (), NOW).verdict

    assert isinstance(verdict, Blocked)


def test_a_task_whose_own_budget_is_used_up_waits_for_a_person() -> None:
    verdict = judge(replace(TASK, spent=9), Report(Outcome.INCOMPLETE), (), NOW, budget=9).verdict

    assert isinstance(verdict, Blocked)


def test_a_wanted_review_comes_after_the_proof() -> None:
    wanted = replace(TASK, review=Review.RESULT)

    assert isinstance(judge(wanted, PROVED, (), NOW).verdict, ReviewRequested)
    assert isinstance(judge(wanted, PROVED, (Check("unit", "x"),), NOW).verdict, Released)
