from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.capabilities import Offer, Wants
from whilly.core.duration import in_words, until
from whilly.core.plan import Review, Status
from whilly.core.task import Claim, Task
from whilly.core.terminal import one_line
from whilly.core.why import Code, HeldFile, TaskFacts, Waiting, explain

NOON = datetime(2031, 3, 2, 12, tzinfo=UTC)
CLAIM = Claim("laptop-1", "c-1", since=NOON - timedelta(minutes=3), lease_until=NOON + timedelta(seconds=50))


def facts(status: Status = Status.PENDING, *, task: dict[str, Any] | None = None, **more: Any) -> TaskFacts:
    return replace(TaskFacts(Task("toy", "T3", status, **(task or {})), NOON, workers_online=1), **more)


def running(phase: str = "", status: Status = Status.IN_PROGRESS, **of_task: Any) -> TaskFacts:
    return facts(status, task={"claim": CLAIM, "epoch": 2, **of_task}, phase=phase, last_seen_seconds=4.0)


SHORT_TEXT = st.text(max_size=5)
SITUATIONS = [
    (facts(), "ready", "T3 is ready: the next free worker takes it.", ""),
    (
        facts(task={"attempts": 1, "reason": "The agent crashed."}),
        "ready",
        "T3 is ready for another attempt: The agent crashed.",
        "",
    ),
    (
        facts(waiting_for=(Waiting("T2", Status.IN_PROGRESS),), task={"unmet": 1}),
        "waiting",
        "T3 waits for T2 (IN_PROGRESS).",
        "See why with `whilly why toy T2`.",
    ),
    (
        facts(
            waiting_for=(Waiting("T1", Status.DONE), Waiting("T2", Status.PENDING), Waiting("T4", Status.HUMAN_LOOP))
        ),
        "waiting",
        "T3 waits for T2 (PENDING) and T4 (HUMAN_LOOP).",
        "Decide about T4, for instance with `whilly review approve toy T4`.",
    ),
    (
        facts(waiting_for=tuple(Waiting(f"A{n}", Status.PENDING) for n in range(6))),
        "waiting",
        "T3 waits for A0 (PENDING), A1 (PENDING), A2 (PENDING) and 3 more.",
        "See why with `whilly why toy A0`.",
    ),
    (facts(task={"unmet": 2}), "waiting", "T3 waits for 2 prerequisites.", ""),
    (
        facts(waiting_for=(Waiting("T2", Status.FAILED, "The agent crashed."),)),
        "prerequisite_failed",
        "T3 needs T2: T2 is FAILED: The agent crashed.",
        "Try it again with `whilly task retry toy T2`.",
    ),
    (
        facts(task={"review": Review.BEFORE}),
        "review_before_due",
        "T3 needs a person's approval before it starts.",
        "Decide in the page, or with `whilly review approve toy T3`, `whilly review reject toy T3` "
        "or `whilly review changes toy T3`.",
    ),
    (
        facts(
            task={"parked_until": NOON + timedelta(minutes=12, seconds=5), "reason": "The provider asked to slow down."}
        ),
        "parked",
        "T3 waits until 12:12 UTC (in 12 min): The provider asked to slow down.",
        "Nothing: it goes on by itself.",
    ),
    (
        facts(task={"parked_until": NOON - timedelta(seconds=1)}),
        "ready",
        "T3 is ready: the next free worker takes it.",
        "",
    ),
    (
        facts(system_paused="The provider is down"),
        "system_paused",
        "Everything is paused: The provider is down.",
        "Go on with `whilly resume`.",
    ),
    (facts(plan_paused=""), "plan_paused", "Plan toy is paused.", "Go on with `whilly resume toy`."),
    (
        facts(budget=2_000_000, spent=2_100_000),
        "over_budget",
        "Plan toy has spent $2.10 of its budget of $2.00.",
        "Raise it with `whilly budget set toy AMOUNT`, or go on without one: `whilly budget set toy none`.",
    ),
    (
        facts(
            budget=2_000_000,
            spent=2_100_000,
            asks_about_budget=True,
            plan_paused="The budget of $2.00 is used up ($2.10 spent): raise it, or go on without one?",
        ),
        "over_budget",
        "Plan toy has spent $2.10 of its budget of $2.00.",
        "Raise it with `whilly budget set toy AMOUNT`, or go on without one: `whilly budget set toy none`.",
    ),
    (
        facts(daily_budget=2_000_000, spent_today=2_100_000),
        "over_daily_budget",
        "Plan toy has spent $2.10 today, of $2.00 per day.",
        "Nothing: it goes on at midnight UTC; or raise it with `whilly budget set toy AMOUNT --per-day`.",
    ),
    (
        facts(daily_budget=2_000_000, spent_today=1_000_000, reserved=1_000_000),
        "budget_reserved",
        "Running tasks have reserved what is left of plan toy's budget for today ($1.00).",
        "Nothing: it goes on when one of them ends; or raise it with `whilly budget set toy AMOUNT --per-day`.",
    ),
    (
        facts(budget=2_000_000, spent=1_000_000, reserved=1_000_000),
        "budget_reserved",
        "Running tasks have reserved what is left of plan toy's budget ($1.00).",
        "Nothing: it goes on when one of them ends; or raise it with `whilly budget set toy AMOUNT`.",
    ),
    (
        facts(task={"spent": 500_000}, task_budget=500_000),
        "task_over_budget",
        "T3 has spent $0.50 of its own budget of $0.50.",
        "Raise it with `whilly budget set toy AMOUNT --task T3`.",
    ),
    (
        facts(held_files=(HeldFile("a.py", "toy", "T1"), HeldFile("b.py", "toy", "T1"), HeldFile("c.py", "web", "W1"))),
        "file_held",
        "T3 waits because T1 is changing a.py and b.py and W1 of plan web is changing c.py.",
        "",
    ),
    (
        facts(workers_online=0),
        "no_worker",
        "T3 is ready, but no worker is online.",
        "Start one with `whilly run --plan toy`.",
    ),
    (
        facts(wants=Wants("codex"), offers=(Offer(("claude",)), Offer(("scripted",)))),
        "no_agent",
        "T3 asks for agent codex, which no worker that is online can run.",
        "Start a worker with `--agent codex`, or give the task to another agent.",
    ),
    (
        facts(wants=Wants("claude", ("gpu",), "bwrap"), offers=(Offer(("claude",), ("arm",)),)),
        "no_capable_worker",
        "T3 asks for tag gpu and isolation bwrap, which no worker that is online has.",
        "Start a worker that has it, for instance with `whilly-worker --tag TAG`, or change what the plan asks for.",
    ),
    (
        facts(workers_hold="Only 10 MB are free on the disk."),
        "workers_hold",
        "T3 is ready, but no worker takes tasks now: Only 10 MB are free on the disk.",
        "",
    ),
    (
        facts(wants=Wants("claude"), offers=(Offer(("claude",)),)),
        "ready",
        "T3 is ready: the next free worker takes it.",
        "",
    ),
    (
        facts(Status.BLOCKED, task={"reason": "Stopped after $0.30.", "spent": 300_000}, task_budget=200_000),
        "blocked",
        "T3 needs a person: Stopped after $0.30.",
        "Raise its budget with `whilly budget set toy AMOUNT --task T3`, then `whilly task retry toy T3`.",
    ),
    (
        facts(Status.DONE, task={"result_commit": "c" * 40, "result_branch": "refs/whilly/toy/T3/e1"}),
        "done",
        "T3 is done: its result is commit cccccccccc, kept as refs/whilly/toy/T3/e1.",
        "Its result is yours to merge: `git merge refs/whilly/toy/T3/e1`.",
    ),
    (
        running(status=Status.CLAIMED),
        "preparing",
        "laptop-1 prepares the workspace of T3 (attempt 2, for 3 min).",
        "",
    ),
    (running(), "running", "laptop-1 lets its agent work on T3 (attempt 2, for 3 min).", ""),
    (running("agent"), "running", "laptop-1 lets its agent work on T3 (attempt 2, for 3 min).", ""),
    (running("checks"), "checking", "laptop-1 runs the checks of T3 (attempt 2, for 3 min).", ""),
    (running("reporting"), "reporting", "laptop-1 reports the result of T3 (attempt 2, for 3 min).", ""),
    (
        replace(running("agent"), last_seen_seconds=47.9),
        "silent",
        "laptop-1, which works on T3, has given no sign of life for 47 s.",
        "Nothing: when its lease runs out, another worker takes the task.",
    ),
    (running("agent", cancel_requested=True), "cancelling", "T3 is being cancelled: laptop-1 stops its agent.", ""),
    (
        facts(Status.HUMAN_LOOP, task={"review": Review.BEFORE, "reason": "A person has to agree first."}),
        "review_before",
        "T3 waits for a person's approval before it starts.",
        "Decide in the page, or with `whilly review approve toy T3`, `whilly review reject toy T3` "
        "or `whilly review changes toy T3`.",
    ),
    (
        facts(Status.HUMAN_LOOP, task={"result_commit": "3b18e512dba79e4c", "result_branch": "whilly/toy/T3"}),
        "review_result",
        "T3 is finished and verified at 3b18e512db on branch whilly/toy/T3; a person has to decide about it.",
        "Decide in the page, or with `whilly review approve toy T3`, `whilly review reject toy T3` "
        "or `whilly review changes toy T3`.",
    ),
    (
        facts(
            Status.BLOCKED,
            task={"blocked_by": "T2", "unmet": 1},
            waiting_for=(Waiting("T2", Status.SKIPPED, "Not now"),),
        ),
        "prerequisite_failed",
        "T3 needs T2: T2 is SKIPPED: Not now.",
        "Try it again with `whilly task retry toy T2`.",
    ),
    (
        facts(Status.BLOCKED, task={"blocked_by": "T2", "reason": "T2, which it needs, is FAILED."}),
        "prerequisite_failed",
        "T3 is blocked by T2: T2, which it needs, is FAILED.",
        "See why with `whilly why toy T2`.",
    ),
    (
        facts(
            Status.BLOCKED,
            task={"blocked_by": "T2", "unmet": 1},
            waiting_for=(Waiting("T2", Status.BLOCKED, "It asks."),),
        ),
        "prerequisite_failed",
        "T3 needs T2: T2 is BLOCKED: It asks.",
        "See why with `whilly why toy T2`.",
    ),
    (
        facts(Status.BLOCKED, task={"reason": "Which database?"}),
        "blocked",
        "T3 needs a person: Which database?",
        "When that is mended: `whilly task retry toy T3`; to do without it: `whilly task skip toy T3`.",
    ),
    (
        facts(Status.DONE, task={"result_commit": "3b18e512dba79e4c", "result_branch": "whilly/toy/T3"}),
        "done",
        "T3 is done: its result is commit 3b18e512db on branch whilly/toy/T3.",
        "Its result is yours to merge: `git merge whilly/toy/T3`.",
    ),
    (facts(Status.DONE), "done", "T3 is done.", ""),
    (
        facts(Status.FAILED, task={"reason": "Required check 'unit' failed: exit code 1."}),
        "failed",
        "T3 failed: Required check 'unit' failed: exit code 1.",
        "Try again: `whilly task retry toy T3`.",
    ),
    (
        facts(Status.SKIPPED, task={"reason": "the gate refused it (description)"}),
        "skipped",
        "T3 was skipped: the gate refused it (description).",
        "To do it after all: `whilly task retry toy T3`.",
    ),
]


@pytest.mark.parametrize(
    ("situation", "code", "sentence", "remedy"), SITUATIONS, ids=[f"{n}-{case[1]}" for n, case in enumerate(SITUATIONS)]
)
def test_every_situation_has_a_sentence(situation: TaskFacts, code: str, sentence: str, remedy: str) -> None:
    why = explain(situation)
    assert (why.code, why.sentence, why.remedy) == (code, sentence, remedy)


def test_no_situation_is_left_out() -> None:
    assert {code for _, code, _, _ in SITUATIONS} == {code.value for code in Code}


def test_everything_that_holds_a_task_back_is_told_at_once() -> None:
    why = explain(facts(waiting_for=(Waiting("T2", Status.PENDING),), plan_paused="Lunch", workers_online=0))
    assert why.code is Code.WAITING
    assert why.sentence == "T3 waits for T2 (PENDING). Also: Plan toy is paused: Lunch."
    assert "whilly why toy T2" in why.remedy
    assert "whilly resume toy" in why.remedy


def test_a_reason_from_outside_stays_on_one_line() -> None:
    why = explain(facts(Status.FAILED, task={"reason": "\x1b[31mred\x1b[0m\nand\u202e more " + "x" * 1_000}))
    assert why.sentence.startswith("T3 failed: red and more xxx")
    assert "\n" not in why.sentence
    assert len(why.sentence) < 330


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (7_200, "2 h"),
        (90_000, "1 day"),
        (2e5, "2 days"),
    ],
)
def test_durations_are_said_in_one_unit(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOON + timedelta(minutes=12), "until 12:12 UTC (in 12 min)"),
        (NOON + timedelta(seconds=30), "until 12:00:30 UTC (in 30 s)"),
        (NOON - timedelta(hours=1), "until 11:00:00 UTC (in 0 s)"),
        (NOON + timedelta(days=2), "until 2031-03-04 12:00 UTC (in 2 days)"),
        (datetime(2031, 3, 2, 18, tzinfo=timezone(timedelta(hours=4))), "until 14:00 UTC (in 2 h)"),
    ],
)
def test_moments_are_said_in_utc(moment: datetime, words: str) -> None:
    assert until(moment, NOON) == words


@given(
    st.builds(
        TaskFacts,
        task=st.builds(
            Task,
            plan=st.just("toy"),
            id=st.just("T3"),
            status=st.sampled_from(Status),
            unmet=st.integers(0, 2),
            attempts=st.integers(0, 3),
            review=st.sampled_from(Review),
            claim=st.none() | st.just(CLAIM),
            parked_until=st.none() | st.datetimes(timezones=st.just(UTC)),
            cancel_requested=st.booleans(),
            reason=SHORT_TEXT,
            blocked_by=st.sampled_from(["", "T2"]),
            result_commit=st.sampled_from(["", "3b18e512"]),
            result_branch=st.sampled_from(["", "whilly/toy/T3"]),
        ),
        now=st.datetimes(timezones=st.just(UTC)),
        waiting_for=st.lists(
            st.builds(Waiting, st.sampled_from(["T1", "T2"]), st.sampled_from(Status), SHORT_TEXT)
        ).map(tuple),
        plan_paused=st.none() | SHORT_TEXT,
        system_paused=st.none() | SHORT_TEXT,
        budget=st.none() | st.integers(0, 10),
        spent=st.integers(0, 10),
        reserved=st.integers(0, 10),
        held_files=st.lists(st.builds(HeldFile, SHORT_TEXT, st.just("toy"), st.just("T1"))).map(tuple),
        phase=SHORT_TEXT,
        last_seen_seconds=st.none() | st.floats(-1e6, 1e6),
        workers_online=st.integers(-1, 2),
    )
)
def test_whatever_the_facts_there_is_a_sentence_on_one_line(anything: TaskFacts) -> None:
    why = explain(anything)
    assert why.sentence.endswith((".", "!", "?", "…"))
    assert why.sentence == one_line(why.sentence, 2_000)
    assert "(in -" not in why.sentence
    assert why.remedy == one_line(why.remedy, 2_000)
