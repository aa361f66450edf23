"""What an attempt brings back: how it ended, what it cost, what the checks gave."""

from dataclasses import dataclass

from whilly.core.money import Micros
from whilly.core.outcome import Outcome

MOST_TOKENS = 10**12
"""Of one attempt: more than that is a mistake."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the agent's runs of one attempt consumed. Tokens in four classes that do not overlap."""

    cost: Micros | None = None
    """None: unknown, which is never counted as nothing."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One verification command, as it ran."""

    name: str
    command: str
    required: bool
    passed: bool
    exit_code: int | None
    """None when it was stopped or could not start."""
    commit: str
    duration_ms: int
    timed_out: bool = False
    output_head: str = ""
    output_tail: str = ""
    """Empty when the head holds everything."""
    output_bytes: int = 0
    note: str = ""
    """Why it did not pass where the exit code does not say it: `no tests were collected`, `stopped after 600 s`."""


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's account of one attempt. The control plane judges it; see `core.verdict`."""

    outcome: Outcome
    reason: str = ""
    """One sentence for people; empty for a completed attempt."""
    summary: str = ""
    """The agent's own closing words, shortened. Never trusted."""
    base_commit: str = ""
    head_commit: str = ""
    """Empty when nothing was committed."""
    branch: str = ""
    """Where the result can be found in the user's repository."""
    kept_ref: str = ""
    """A ref that keeps whatever the agent left, also after a failure."""
    files_changed: int = 0
    checks: tuple[CheckResult, ...] = ()
    usage: Usage = Usage()
    agent: str = ""
    agent_version: str = ""
    model: str = ""
    session: str = ""
    """The agent CLI's own name for the conversation, for resuming."""
    exit_code: int | None = None
    retry_after_seconds: int | None = None
    """For an outcome that parks: how long the provider asked to wait."""
