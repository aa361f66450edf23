"""What a scripted agent shall do, as JSON: read and checked, all mistakes at once."""

import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from whilly.core.errors import WhillyError
from whilly.core.evidence import MOST_TOKENS
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome

ANY_TASK = "*"
"""The script for tasks that have none of their own."""

ACTABLE = (
    Outcome.INCOMPLETE,
    Outcome.AGENT_FAILED,
    Outcome.AGENT_MISSING,
    Outcome.AGENT_BLOCKED,
    Outcome.AUTH_FAILED,
    Outcome.RATE_LIMITED,
    Outcome.QUOTA_EXHAUSTED,
    Outcome.PROVIDER_ERROR,
    Outcome.CONTEXT_OVERFLOW,
    Outcome.REFUSED,
    Outcome.DENIED,
)
"""Endings that an agent's side reports, and that a script can act out with `end`."""

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class BadScript(WhillyError):
    """A script cannot be followed as written; the text lists every mistake."""


@dataclass(frozen=True, slots=True)
class Script:
    """Steps that were checked, in the form in which the program gets them."""

    steps: tuple[Mapping[str, Any], ...]


Scripts = Mapping[str, Script]
"""By task id; `*` is for all others."""

NO_SCRIPTS: Scripts = MappingProxyType({})


def load_scripts(path: Path) -> dict[str, Script]:
    """The scripts of a JSON file that maps task ids to lists of steps. Raises BadScript."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadScript(f"The script {path} cannot be read: {error.strerror}.") from None
    return read_scripts(data, str(path))


def read_scripts(data: bytes | str, source: str) -> dict[str, Script]:
    """The scripts in a JSON text. Raises BadScript with a line for each mistake."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadScript(f"{source}: this is not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise BadScript(f'{source}: write an object that maps task ids to lists of steps, as in {{"TASK-001": […]}}.')
    complaints = [
        f"{source}: {task}: {complaint}" for task, steps in content.items() for complaint in _steps(steps, "")
    ]
    if complaints:
        raise BadScript("\n".join(complaints))
    return {task: Script(tuple(steps)) for task, steps in content.items()}


def _steps(steps: Any, where: str) -> list[str]:
    if not isinstance(steps, list):
        return [f"{where}write a list of steps."]
    return [complaint for number, step in enumerate(steps, 1) for complaint in _step(step, f"{where}step {number}: ")]


def _step(step: Any, where: str) -> list[str]:
    if not isinstance(step, dict) or len(step) != 1:
        return [f'{where}write an object with one key, as in {{"print": "hello"}}.']
    ((name, value),) = step.items()
    if name == "on_attempt":
        return _on_attempt(value, where)
    if name not in STEPS:
        return [f"{where}there is no step {name!r}; there are {', '.join([*STEPS, 'on_attempt'])}."]
    return [] if STEPS[name].fits(value) else [f"{where}{name} takes {STEPS[name].takes}."]


def _on_attempt(value: Any, where: str) -> list[str]:
    if not isinstance(value, dict) or not value or not all(key.isdecimal() and int(key) > 0 for key in value):
        return [f'{where}on_attempt takes lists of steps by attempt number, as in {{"1": […], "2": […]}}.']
    return [complaint for key, steps in value.items() for complaint in _steps(steps, f"{where}on_attempt {key}: ")]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step: what it takes and what it does."""

    fits: Callable[[Any], bool]
    takes: str
    does: str


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _inside(value: Any) -> bool:
    """A path that cannot lead out of the workspace by its letters. The program looks at links, too."""
    return (
        isinstance(value, str) and bool(value) and not value.startswith(("/", "\\")) and ".." not in Path(value).parts
    )


def _file(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"path", "content"}
        and _inside(value["path"])
        and _text(value["content"])
    )


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _true(value: Any) -> bool:
    return value is True


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 86400


def _crash(value: Any) -> bool:
    if isinstance(value, str):
        return value in signal.Signals.__members__
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255


def _usage(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"cost_usd", *TOKENS}:
        return False
    counts = [value[name] for name in TOKENS if name in value]
    if not all(
        isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS for count in counts
    ):
        return False
    cost = value.get("cost_usd")
    if isinstance(cost, bool) or not isinstance(cost, int | float | str | Decimal | None):
        return False
    try:
        from_usd(cost or 0)
    except ValueError:
        return False
    return True


def _end(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"outcome", "reason", "retry_after_seconds"}:
        return False
    wait = value.get("retry_after_seconds")
    return value.get("outcome") in set(ACTABLE) and _text(value.get("reason", "")) and (wait is None or _seconds(wait))


STEPS: Mapping[str, Kind] = {
    "write": Kind(_file, '{"path": …, "content": …} with a path inside the workspace', "Writes the file anew."),
    "append": Kind(_file, '{"path": …, "content": …} with a path inside the workspace', "Adds to the file's end."),
    "delete": Kind(_inside, "a path inside the workspace", "Removes the file, or the folder with all it holds."),
    "shell": Kind(_text, "a command for the shell", "Runs it in the workspace; its failure does not end the script."),
    "commit": Kind(_text, "a commit message", "Commits everything that differs."),
    "print": Kind(_text, "text for the transcript", "Says it while working."),
    "print_prompt": Kind(_true, "true", "Says the prompt that it was given."),
    "raw": Kind(_text, "text", "Prints it past the protocol, as a program's own noise."),
    "usage": Kind(
        _usage,
        '{"cost_usd": 0.10, "input_tokens": 1000, …} with any of cost_usd, input_tokens, output_tokens, '
        "cache_read_tokens and cache_write_tokens; null is an unknown cost",
        "Reports that so much more was consumed.",
    ),
    "sleep": Kind(_seconds, "seconds, at most a day", "Waits."),
    "hang": Kind(_true, "true", "Says and does nothing more until it is stopped."),
    "ignore_term": Kind(_true, "true", "From here on SIGTERM has no effect."),
    "crash": Kind(_crash, "an exit code from 0 to 255 or a signal such as SIGKILL", "Ends at once, without a result."),
    "say": Kind(_text, "the final text", "What the agent says in the end, before the marker."),
    "complete": Kind(_flag, "true or false", "Whether the completion marker follows the final text; else it does."),
    "blocked": Kind(_text, "a question", "Ends by asking a person instead of completing."),
    "end": Kind(
        _end,
        f'{{"outcome": …, "reason": …, "retry_after_seconds": …}} with one of {", ".join(ACTABLE)}',
        "Ends as if the provider or the program had failed in this way.",
    ),
}
"""Every kind of step except `on_attempt`, which chooses steps by the attempt's number."""
