"""An agent that is a shell script: a real process, for whatever a test needs an agent to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from whilly.agents.command import Command, Ended, Limits
from whilly.agents.process import run_process
from whilly.agents.runner import AgentMissing, AgentResult, Brief, Listener, Progress, StopSignal
from whilly.core.evidence import Usage
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome

ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}

OUTCOMES: Final = {
    Ended.EXITED: Outcome.COMPLETED,
    Ended.STOPPED: Outcome.CANCELLED,
    Ended.TIMED_OUT: Outcome.TIMED_OUT,
    Ended.STALLED: Outcome.STALLED,
    Ended.LOST: Outcome.AGENT_FAILED,
}


@dataclass
class ShellAgent:
    """Runs the script of its task (`*`: of any). A printed line `USAGE 0.10` tells the dollars spent."""

    scripts: Mapping[str, str]
    name: str = "shell"
    is_missing: bool = False
    briefs: list[Brief] = field(default_factory=list)

    async def probe(self) -> str:
        if self.is_missing:
            raise AgentMissing("The shell is not installed; install one.")
        return "1.0"

    async def run(self, brief: Brief, listener: Listener, stop: StopSignal) -> AgentResult:
        self.briefs.append(brief)
        script = self.scripts.get(brief.task) or self.scripts["*"]
        if script == "missing":
            raise AgentMissing("The shell was uninstalled; install it again.")
        heard = _Ears(listener)
        command = Command(("/bin/sh", "-c", script), brief.workspace, {**ENVIRONMENT, "TASK": brief.task})
        limits = Limits(brief.timeout_seconds, brief.stall_seconds, grace_seconds=1)
        ended = await run_process(command, heard, limits=limits, stop=stop)
        outcome = OUTCOMES[ended.ended]
        if outcome is Outcome.COMPLETED and ended.exit_code != 0:
            outcome = Outcome.AGENT_FAILED
        return AgentResult(
            outcome, f"exit code {ended.exit_code}", heard.text, heard.usage, model="sh", exit_code=ended.exit_code
        )


@dataclass
class _Ears:
    listener: Listener
    text: str = ""
    usage: Usage = Usage(0)
    _rest: str = ""

    async def write(self, data: bytes) -> bool:
        said = data.decode("utf-8", "backslashreplace")
        self.text = (self.text + said)[-10_000:]
        *lines, rest = (self._rest + said).split("\n")
        self._rest = rest[-1000:]
        spent = [line.removeprefix("USAGE ") for line in lines if line.startswith("USAGE ")]
        if spent:
            self.usage = Usage(from_usd(spent[-1]), input_tokens=len(spent))
        await self.listener(Progress(said, self.usage if spent else None))
        return True

    async def end(self) -> None:
        return
