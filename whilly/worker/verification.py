"""Runs the checks of a task on a recorded commit and brings home what they gave."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from whilly.agents.capture import Capture, Captured
from whilly.agents.command import CannotStart, Command, Ended, Limits, ProcessResult
from whilly.agents.process import run_process
from whilly.agents.runner import StopSignal
from whilly.core.evidence import CheckResult
from whilly.core.plan import Check
from whilly.worker.empty_runs import NOTE, ran_nothing

MOST_KEPT = 16 * 1024
"""Bytes of the head and of the tail of one check's output."""

MOST_KEPT_TOGETHER = 192 * 1024
"""Bytes of all heads, and of all tails. Escaped as JSON a report is then still smaller than the megabyte that a control
plane takes."""

GRACE_SECONDS = 2.0

Told = Callable[[Check, CheckResult], Awaitable[None]]


async def run_checks(
    checks: Sequence[Check],
    checkout: Path,
    commit: str,
    *,
    environment: Mapping[str, str],
    halt: StopSignal,
    told: Told,
) -> tuple[CheckResult, ...]:
    """Run every check, also after one has failed, one after another in `checkout`, a clean checkout of `commit`.

    `told` hears of each as it ends. When `halt` is set the running check is ended and the others do not start.
    """
    kept = min(MOST_KEPT, MOST_KEPT_TOGETHER // max(len(checks), 1))
    results = []
    for check in checks:
        if halt.is_set():
            break
        result = await _run(check, checkout, commit, environment, halt, kept)
        results.append(result)
        await told(check, result)
    return tuple(results)


async def _run(
    check: Check, checkout: Path, commit: str, environment: Mapping[str, str], halt: StopSignal, kept: int
) -> CheckResult:
    capture = Capture(kept, kept)
    command = Command(shell(check.command), checkout, environment)
    limits = Limits(timeout_seconds=check.timeout_seconds, grace_seconds=GRACE_SECONDS)
    try:
        ended = await run_process(command, capture, limits=limits, stop=halt)
    except CannotStart as failure:
        return CheckResult(check.name, check.command, check.required, False, None, commit, 0, note=str(failure))
    printed = capture.captured()
    note = _objection(check, ended, printed, whole=printed.size <= 2 * kept)
    return CheckResult(
        name=check.name,
        command=check.command,
        required=check.required,
        passed=ended.ended is Ended.EXITED and ended.exit_code == 0 and not note,
        exit_code=ended.exit_code if ended.ended is Ended.EXITED else None,
        commit=commit,
        duration_ms=round(ended.seconds * 1000),
        timed_out=ended.ended is Ended.TIMED_OUT,
        output_head=printed.head,
        output_tail=printed.tail,
        output_bytes=printed.size,
        note=note,
    )


def _objection(check: Check, ended: ProcessResult, printed: Captured, *, whole: bool) -> str:
    """Why it did not pass, where the exit code does not say it."""
    match ended.ended:
        case Ended.TIMED_OUT:
            return f"stopped after {check.timeout_seconds} s"
        case Ended.STOPPED:
            return "stopped together with its attempt"
        case Ended.STALLED | Ended.LOST:
            return "its process was lost"
        case Ended.EXITED:
            if ended.exit_code is not None and ended.exit_code < 0:
                return f"killed by signal {-ended.exit_code}"
            return NOTE if ran_nothing(check.command, ended.exit_code, printed.text, whole=whole) else ""


def shell(command: str) -> tuple[str, ...]:
    """The command for the platform's shell."""
    if sys.platform == "win32":
        return os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", command
    return "/bin/sh", "-c", command
