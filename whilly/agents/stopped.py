"""What it means for an attempt when the agent did not end by itself."""

import signal

from whilly.agents.command import Ended, ProcessResult
from whilly.agents.runner import Brief
from whilly.core.money import shown
from whilly.core.outcome import Outcome


def outcome_of_stopped(ended: ProcessResult, brief: Brief, *, over_budget: bool) -> tuple[Outcome, str]:
    """The outcome and a sentence. RELEASED for the caller's own stop signal: only the caller knows why it was set."""
    match ended.ended:
        case Ended.TIMED_OUT:
            return Outcome.TIMED_OUT, f"Stopped after {_duration(brief.timeout_seconds)}."
        case Ended.STALLED:
            return Outcome.STALLED, f"Stopped after {_duration(brief.stall_seconds)} without a sign of work."
        case Ended.STOPPED if over_budget:
            limit = shown(brief.limit)
            return Outcome.OVER_BUDGET, f"Stopped after spending its limit of {limit}. What it did is kept."
        case Ended.STOPPED:
            return Outcome.RELEASED, "Stopped on request."
        case Ended.LOST | Ended.EXITED:
            return Outcome.AGENT_FAILED, "The process that watches over the agent was killed, and the agent with it."


def exit_in_words(code: int | None) -> str:
    """`exit code 3` or `killed by SIGKILL`."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _duration(seconds: float) -> str:
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:g} minutes"
    return f"{seconds:g} seconds"
