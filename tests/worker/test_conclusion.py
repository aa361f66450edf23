import pytest

from whilly.agents.runner import AgentResult
from whilly.core.evidence import CheckResult
from whilly.core.outcome import Outcome
from whilly.worker.conclusion import OUTCOME_OF_HALT, conclude
from whilly.worker.halt import Cause, Halt

DONE = AgentResult(Outcome.COMPLETED)
COMMIT = "c" * 40


def check(passed: bool, *, required: bool = True, code: int | None = 1, note: str = "") -> CheckResult:
    return CheckResult("tests", "make test", required, passed, code, COMMIT, 12, note=note)


def halted(cause: Cause | None) -> Halt:
    halt = Halt()
    if cause:
        halt.because(cause, "It had to end.")
    return halt


def outcome(
    agent: AgentResult = DONE,
    cause: Cause | None = None,
    *,
    changed: bool = True,
    violated: str = "",
    checks: tuple[CheckResult, ...] = (),
) -> Outcome:
    return conclude(agent, halted(cause), changed=changed, violated=violated, checks=checks)[0]


def test_done_changed_and_proved_is_completed() -> None:
    assert outcome(checks=(check(True),)) is Outcome.COMPLETED


def test_a_change_that_nothing_checks_is_completed_for_the_control_plane_to_judge() -> None:
    assert outcome() is Outcome.COMPLETED


def test_done_without_a_difference_is_no_changes_even_when_the_checks_pass() -> None:
    assert outcome(changed=False, checks=(check(True),)) is Outcome.NO_CHANGES


def test_a_failed_required_check_decides_and_is_named() -> None:
    verdict = conclude(
        DONE,
        Halt(),
        changed=True,
        violated="",
        checks=(check(False), check(False, code=None, note="stopped after 5 s")),
    )
    assert verdict == (
        Outcome.CHECKS_FAILED,
        "Required check 'tests' failed: exit code 1. Required check 'tests' failed: stopped after 5 s.",
    )


def test_a_failed_optional_check_does_not_decide() -> None:
    assert outcome(checks=(check(False, required=False),)) is Outcome.COMPLETED


@pytest.mark.parametrize("said", [each for each in Outcome if each is not Outcome.COMPLETED])
def test_what_the_agents_side_says_stays_whatever_was_changed(said: Outcome) -> None:
    assert outcome(AgentResult(said), checks=(check(True),)) is said


@pytest.mark.parametrize("cause", Cause)
def test_a_halt_explains_an_agent_that_was_not_done(cause: Cause) -> None:
    assert outcome(AgentResult(Outcome.CANCELLED), cause) is OUTCOME_OF_HALT[cause]


def test_a_halt_while_checking_counts_as_well() -> None:
    assert outcome(DONE, Cause.CANCELLED, checks=(check(False),)) is Outcome.CANCELLED


def test_work_that_was_done_within_the_last_dollar_is_judged() -> None:
    assert outcome(DONE, Cause.OVER_BUDGET, checks=(check(True),)) is Outcome.COMPLETED


def test_tampering_counts_more_than_anything_else() -> None:
    assert outcome(DONE, Cause.SHUTDOWN, violated="It moved main.") is Outcome.WORKSPACE_VIOLATED


def test_the_first_cause_of_a_halt_counts() -> None:
    halt = halted(Cause.CANCELLED)
    halt.because(Cause.LEASE_LOST, "too late")
    assert (halt.cause, halt.reason) == (Cause.CANCELLED, "It had to end.")
