"""The scripted agent: does as a script says, in a process of its own like any agent. For demos, docs and tests."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whilly import __version__
from whilly.agents.capture import Capture
from whilly.agents.command import CannotStart, Command, Ended, Limits, ProcessResult
from whilly.agents.environment import clean_environment
from whilly.agents.lines import Line, Lines
from whilly.agents.process import run_process
from whilly.agents.runner import AgentMissing, AgentResult, Brief, Listener, StopSignal
from whilly.agents.script import ANY_TASK, NO_SCRIPTS, TOKENS, Script, Scripts
from whilly.agents.spending import SpendingLimit
from whilly.agents.stopped import exit_in_words, outcome_of_stopped
from whilly.agents.telling import Telling
from whilly.core.completion import says_blocked, says_complete
from whilly.core.evidence import MOST_TOKENS, Usage
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.terminal import clean, one_line

PROGRAM = Path(__file__).with_name("scripted_program.py")


class ScriptedAgent:
    """Plays the script of its task; without one it adds a line to each key file and completes."""

    name = "scripted"

    def __init__(self, environ: Mapping[str, str], scripts: Scripts = NO_SCRIPTS) -> None:
        self._environ = environ
        self._scripts = scripts

    async def probe(self) -> str:
        """It is always there, in the version of Whilly."""
        return __version__

    async def run(self, brief: Brief, listener: Listener, stop: StopSignal) -> AgentResult:
        """Play until the end, a limit or `stop`. Raises AgentMissing when this Python cannot be run."""
        argv = [sys.executable, "-I", "-S", str(PROGRAM)]
        command = Command(
            argv=tuple(brief.wrap(argv) if brief.wrap else argv),
            cwd=brief.workspace,
            environment={**clean_environment(self._environ), **brief.environment},
            stdin=_assignment(brief, self._scripts.get(brief.task) or self._scripts.get(ANY_TASK)),
        )
        limits = Limits(timeout_seconds=brief.timeout_seconds, stall_seconds=brief.stall_seconds)
        spending = SpendingLimit(brief.limit, stop)
        heard = _Heard(Telling(listener), spending)
        stderr = Capture()
        try:
            ended = await run_process(command, Lines(heard.line), stderr, limits=limits, stop=spending)
        except CannotStart as failure:
            raise AgentMissing(f"The scripted agent cannot run: {failure}") from None
        await heard.telling.end()
        outcome, reason = _outcome(ended, heard, clean(stderr.captured().text), brief, spending)
        return AgentResult(
            outcome=outcome,
            reason=reason,
            final_text=clean(str(heard.result.get("text", ""))),
            usage=heard.usage,
            version=__version__,
            exit_code=ended.exit_code,
            retry_after_seconds=heard.retry_after_seconds if outcome is not Outcome.COMPLETED else None,
        )


class _Heard:
    """What the program has told so far."""

    def __init__(self, telling: Telling, spending: SpendingLimit) -> None:
        self.telling = telling
        self.usage = Usage(cost=0)
        self.result: dict[str, Any] = {}
        self._spending = spending

    @property
    def retry_after_seconds(self) -> int | None:
        """As the script's `end` says."""
        wait = self.result.get("retry_after_seconds")
        return None if wait is None else int(wait)

    async def line(self, line: Line) -> bool:
        """Take one line; what is not of the protocol is noise, shown and nothing more."""
        try:
            content = json.loads(line.text)
        except (ValueError, RecursionError):
            content = None
        match content:
            case {"text": str(text)}:
                await self.telling.say(text)
            case {"usage": dict(more)}:
                self.usage = _sum(self.usage, more)
                self._spending.note(self.usage)
                await self.telling.say(usage=self.usage)
            case {"result": dict(result)}:
                self.result = result
                await self.telling.say(f"{result.get('text', '')}\n")
            case _:
                await self.telling.say(line.text + "\n")
        return True


def _assignment(brief: Brief, script: Script | None) -> bytes:
    content = {
        "task": brief.task or "task",
        "attempt": brief.epoch,
        "key_files": list(brief.key_files),
        "prompt": brief.prompt,
        "steps": None if script is None else [dict(step) for step in script.steps],
    }
    return json.dumps(content).encode()


def _sum(usage: Usage, more: Mapping[str, Any]) -> Usage:
    """With what was consumed in addition. A cost that was ever unknown stays unknown."""
    cost = usage.cost
    if "cost_usd" in more:
        cost = None if cost is None or more["cost_usd"] is None else cost + from_usd(more["cost_usd"])
    counts = {name: min(getattr(usage, name) + int(more.get(name, 0)), MOST_TOKENS) for name in TOKENS}
    return replace(usage, cost=cost, **counts)


def _outcome(
    ended: ProcessResult, heard: _Heard, stderr: str, brief: Brief, spending: SpendingLimit
) -> tuple[Outcome, str]:
    if ended.ended is not Ended.EXITED:
        return outcome_of_stopped(ended, brief, over_budget=spending.reached)
    if ended.exit_code != 0 or not heard.result:
        how = exit_in_words(ended.exit_code)
        return Outcome.AGENT_FAILED, f"The scripted agent ended without a result ({how}). {one_line(stderr)}".strip()
    if acted := heard.result.get("outcome"):
        return Outcome(acted), str(heard.result.get("reason") or "The script says so.")
    text = clean(str(heard.result["text"]))
    if (question := says_blocked(text)) is not None:
        return Outcome.AGENT_BLOCKED, question
    if says_complete(text):
        return Outcome.COMPLETED, ""
    return Outcome.INCOMPLETE, "The agent ended without the completion marker."
