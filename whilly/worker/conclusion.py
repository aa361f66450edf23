"""What an attempt's outcome is: the one table. The control plane judges again, from the evidence."""

from collections.abc import Sequence

from whilly.agents.runner import AgentResult
from whilly.core.evidence import CheckResult
from whilly.core.outcome import Outcome
from whilly.worker.halt import OF_MONEY, Cause, Halt

OUTCOME_OF_HALT = {
    Cause.SHUTDOWN: Outcome.RELEASED,
    Cause.CANCELLED: Outcome.CANCELLED,
    Cause.LEASE_LOST: Outcome.LOST_WORKER,
    Cause.OUT_OF_CONTACT: Outcome.LOST_WORKER,
    Cause.SUPERSEDED: Outcome.RELEASED,
    Cause.OVER_BUDGET: Outcome.OVER_BUDGET,
    Cause.RUN_BUDGET: Outcome.OVER_BUDGET,
}

Conclusion = tuple[Outcome, str]
"""How it ended, and why in a sentence for people; empty when there is nothing to explain."""


def conclude(
    agent: AgentResult, halt: Halt, *, changed: bool, violated: str, checks: Sequence[CheckResult]
) -> Conclusion:
    """The outcome of an attempt whose agent ran. The first line of the table that applies counts.

    =================================  =====================
    the workspace was tampered with    workspace_violated
    halted, agent not done             as the halt's cause
    agent not done                     what the agent's side says
    halted while checking              as the halt's cause
    nothing differs from the base      no_changes
    a required check did not pass      checks_failed
    otherwise                          completed
    =================================  =====================

    Halted by a budget when the agent was done: nothing is saved by stopping now, so its work is judged.
    """
    if violated:
        return Outcome.WORKSPACE_VIOLATED, violated
    done = agent.outcome is Outcome.COMPLETED
    if halt.cause and not (done and halt.cause in OF_MONEY):
        return OUTCOME_OF_HALT[halt.cause], halt.reason
    if not done:
        return agent.outcome, agent.reason
    if not changed:
        return Outcome.NO_CHANGES, "The agent says it is done, but nothing differs from the base commit."
    if failed := [check for check in checks if check.required and not check.passed]:
        return Outcome.CHECKS_FAILED, " ".join(_complaint(check) for check in failed)
    return Outcome.COMPLETED, ""


def _complaint(check: CheckResult) -> str:
    how = check.note or (f"exit code {check.exit_code}" if check.exit_code is not None else "it was stopped")
    return f"Required check {check.name!r} failed: {how}."
