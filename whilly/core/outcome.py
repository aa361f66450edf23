"""Every way an attempt can end: one closed list, each with its remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How an attempt ended. Values are stored, shown, counted in metrics and documented in the failure catalogue."""

    COMPLETED = "completed"
    NO_CHANGES = "no_changes"
    INCOMPLETE = "incomplete"
    AGENT_FAILED = "agent_failed"
    AGENT_MISSING = "agent_missing"
    AGENT_BLOCKED = "agent_blocked"
    AUTH_FAILED = "auth_failed"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    PROVIDER_ERROR = "provider_error"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSED = "refused"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    STALLED = "stalled"
    OVER_BUDGET = "over_budget"
    CHECKS_FAILED = "checks_failed"
    MERGE_CONFLICT = "merge_conflict"
    WORKSPACE_ERROR = "workspace_error"
    WORKSPACE_VIOLATED = "workspace_violated"
    REPOSITORY_UNAVAILABLE = "repository_unavailable"
    NO_SPACE = "no_space"
    LOST_WORKER = "lost_worker"
    RELEASED = "released"
    CANCELLED = "cancelled"


class Remedy(StrEnum):
    """What follows an attempt that ended so."""

    JUDGE = "judge"
    """The evidence decides: DONE, a person's review, a repair attempt, or FAILED."""
    RETRY = "retry"
    """Another attempt at once, while attempts are left; then FAILED."""
    BACK_OFF = "back_off"
    """Another attempt after a growing wait, while attempts are left; then FAILED."""
    PARK = "park"
    """Wait as long as the provider says. Does not use up an attempt."""
    RETURN = "return"
    """Straight back to the queue. Does not use up an attempt."""
    PERSON = "person"
    """BLOCKED until a person acts."""
    PAY = "pay"
    """Back to the queue, where the plan's budget holds it, without using up an attempt; BLOCKED when the task's own
    budget is used up."""
    FAIL = "fail"
    """FAILED; trying again unchanged would give the same."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What an outcome means and what to do about it: the failure catalogue is printed from these."""

    remedy: Remedy
    means: str
    advice: str


ENDINGS: dict[Outcome, Ending] = {
    Outcome.COMPLETED: Ending(
        Remedy.JUDGE, "The agent says it is done and changed something.", "Nothing: the checks decide."
    ),
    Outcome.NO_CHANGES: Ending(
        Remedy.FAIL,
        "The agent says it is done, but nothing differs from the base commit.",
        "Say in the description what has to change, or skip the task if the work is already there.",
    ),
    Outcome.INCOMPLETE: Ending(
        Remedy.RETRY,
        "The agent ended without the completion marker, or with an empty answer.",
        "Read the transcript; split the task when it is too large for one run.",
    ),
    Outcome.AGENT_FAILED: Ending(
        Remedy.BACK_OFF, "The agent's process ended with an error or crashed.", "Read the end of the transcript."
    ),
    Outcome.AGENT_MISSING: Ending(
        Remedy.RETURN,
        "The agent's program is not installed where the worker looks for it, or cannot run as it is set up.",
        "Do what the reason says (for Claude Code: CLAUDE_BIN, WHILLY_CLAUDE_MODEL), then start the worker again.",
    ),
    Outcome.AGENT_BLOCKED: Ending(
        Remedy.PERSON, "The agent says that it cannot go on without a person.", "Answer its question, then retry."
    ),
    Outcome.AUTH_FAILED: Ending(
        Remedy.PERSON, "The provider refused the agent's credentials.", "Log in or renew the key, then retry."
    ),
    Outcome.RATE_LIMITED: Ending(
        Remedy.PARK, "The provider asked to slow down.", "Nothing: the task goes on after the wait."
    ),
    Outcome.QUOTA_EXHAUSTED: Ending(
        Remedy.PARK,
        "The provider's plan or credit is used up.",
        "Wait for the reset that the task names, or add credit and retry.",
    ),
    Outcome.PROVIDER_ERROR: Ending(
        Remedy.BACK_OFF, "The provider failed, was overloaded or not reachable.", "Nothing: tried again after a wait."
    ),
    Outcome.CONTEXT_OVERFLOW: Ending(
        Remedy.FAIL, "The work does not fit into the model's context.", "Split the task into smaller ones."
    ),
    Outcome.REFUSED: Ending(
        Remedy.FAIL, "The model declined to do this task.", "Reword the task or give it to another agent."
    ),
    Outcome.DENIED: Ending(
        Remedy.PERSON,
        "The agent was not permitted to use a tool that it asked for.",
        "Widen the agent's permissions if you want that, then retry.",
    ),
    Outcome.TIMED_OUT: Ending(
        Remedy.RETRY, "The agent ran longer than its time limit and was stopped.", "Raise timeout_minutes or split."
    ),
    Outcome.STALLED: Ending(
        Remedy.RETRY, "The agent gave no sign of work for too long and was stopped.", "Read the transcript's end."
    ),
    Outcome.OVER_BUDGET: Ending(
        Remedy.PAY,
        "The agent reached its spending limit and was stopped; its work is kept.",
        "Raise the budget: the task goes on from its kept work. If the budget is the task's own, retry it then.",
    ),
    Outcome.CHECKS_FAILED: Ending(
        Remedy.JUDGE,
        "A required check did not pass on the attempt's commit.",
        "Read the check's output; a repair attempt starts by itself while allowed.",
    ),
    Outcome.MERGE_CONFLICT: Ending(
        Remedy.PERSON,
        "The results of the prerequisites conflict with each other or with the base.",
        "Merge them by hand on the branch that the task names, then retry.",
    ),
    Outcome.WORKSPACE_ERROR: Ending(
        Remedy.BACK_OFF,
        "The private clone could not be prepared or read.",
        "See the reason; `whilly db status` and git.",
    ),
    Outcome.WORKSPACE_VIOLATED: Ending(
        Remedy.PERSON,
        "The agent tampered with the repository's structure or left its workspace.",
        "Look at the transcript before you retry.",
    ),
    Outcome.REPOSITORY_UNAVAILABLE: Ending(
        Remedy.PARK,
        "The repository elsewhere could not be fetched, or neither be pushed to nor the result be sent as a bundle.",
        "Do what the reason says (host, credentials, clone_url); the task then goes on by itself.",
    ),
    Outcome.NO_SPACE: Ending(Remedy.BACK_OFF, "The worker's disk is full.", "Free space on the worker."),
    Outcome.LOST_WORKER: Ending(
        Remedy.BACK_OFF, "The worker fell silent and its lease ran out.", "Look at the worker's machine."
    ),
    Outcome.RELEASED: Ending(
        Remedy.RETURN,
        "The worker was told to stop, or cannot work in the repository as it is, and gave the task back.",
        "Nothing, or what the reason says; the next worker takes it.",
    ),
    Outcome.CANCELLED: Ending(Remedy.FAIL, "A person cancelled the attempt.", "Retry when you want it after all."),
}

BACK_OFF_SECONDS = (5, 10, 20, 40, 60)
"""Waits between attempts after an infrastructure fault (seed document 000, self-healing)."""

MAX_ATTEMPTS = 3
"""Attempts that count, before a task is given up (seed document 000)."""


def back_off(attempts: int) -> int:
    """Seconds to wait after the given number of counted attempts."""
    return BACK_OFF_SECONDS[min(max(attempts, 1), len(BACK_OFF_SECONDS)) - 1]
