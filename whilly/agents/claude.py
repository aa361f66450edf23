"""Claude Code, without a person at the keyboard: `claude -p` with its event stream, the prompt by stdin.

`docs/how-to/use-claude-code.md` explains the choices: permissions, login, environment.
"""

import errno
import re
import shutil
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from whilly.agents.capture import Capture
from whilly.agents.claude_outcome import Ending, outcome_of
from whilly.agents.claude_stream import ClaudeStream
from whilly.agents.command import CannotStart, Command, Ended, Limits, ProcessResult
from whilly.agents.environment import clean_environment, first_given, through_proxy
from whilly.agents.lines import Line, Lines
from whilly.agents.process import run_process
from whilly.agents.runner import AgentMissing, AgentResult, Brief, Listener, StopSignal
from whilly.agents.spending import SpendingLimit
from whilly.agents.stopped import outcome_of_stopped
from whilly.agents.telling import Telling
from whilly.core.money import to_usd
from whilly.core.outcome import Outcome
from whilly.core.terminal import clean, one_line

TOOLS = ("Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Task", "TodoWrite", "Write")
"""What the agent has: files, search, commands, helpers. What it does not have it cannot be denied."""

ALLOWED_TOOLS = ("Bash", "Glob", "Grep", "Read", "Task", "TodoWrite")
"""Used without asking. Editing is allowed by the mode `acceptEdits`, and with it only inside the workspace."""

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    # A run ends when its answer does.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CRON": "1",
    # `@/etc/passwd` in a task's text would send that file to the provider before the model has seen the prompt.
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    # Notes from one task would find their way into another.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # Enough for a hiccup (9 s). Longer waits are Whilly's, where they can be seen.
    "CLAUDE_CODE_MAX_RETRIES": "4",
}

PASSED_ON = ("ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL")
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""The first one given is passed on; without any the user's own login serves."""

LONGEST_PROMPT = 10_000_000
"""Bytes that the program takes from stdin."""

PROBE_SECONDS = 30
LONGEST_COMMAND_SECONDS = 600
"""Of one shell command of the agent, as far as the stall limit leaves room for it."""

_VERSION = re.compile(r"\A(\d+\.\d+\.\d+)\S* \(Claude Code\)")


class ClaudeCode:
    """The real program."""

    name = "claude"

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        binary: str = "claude",
        model: str | None = None,
        proxy_url: str | None = None,
        no_proxy: str = "localhost,127.0.0.1,::1",
    ) -> None:
        """`binary` is a path or a name to look for on the PATH of `environ`."""
        self._binary = binary
        self._model = model
        self.environment = _environment(environ) | through_proxy(proxy_url, no_proxy)
        """All that the program sees, before the brief's own additions."""

    async def probe(self) -> str:
        """The installed version. Raises AgentMissing with a sentence that says what to install or set."""
        program = self._program()
        output, errors = Capture(), Capture()
        command = Command((program, "--version"), Path.cwd(), self.environment)
        try:
            ended = await run_process(command, output, errors, limits=Limits(timeout_seconds=PROBE_SECONDS))
        except CannotStart as failure:
            raise AgentMissing(_missing(str(failure))) from None
        if ended.ended is Ended.TIMED_OUT:
            raise AgentMissing(_missing(f"{program} --version gave no answer within {PROBE_SECONDS} seconds."))
        said = clean(output.captured().head)
        found = _VERSION.search(said)
        if ended.exit_code != 0 or found is None:
            answer = one_line(said or clean(errors.captured().head), 100) or "nothing"
            raise AgentMissing(_missing(f"{program} is not Claude Code: asked for its version it said: {answer}."))
        return found[1]

    async def run(self, brief: Brief, listener: Listener, stop: StopSignal) -> AgentResult:
        """Work until the end, a limit or `stop`. Raises AgentMissing."""
        prompt = _safe(brief.prompt)
        if len(prompt) > LONGEST_PROMPT:
            reason = f"The prompt has {len(prompt)} bytes; Claude Code takes at most {LONGEST_PROMPT}."
            return AgentResult(Outcome.CONTEXT_OVERFLOW, reason)
        if brief.limit is not None and brief.limit <= 0:
            return AgentResult(Outcome.OVER_BUDGET, "There is no money left for this attempt.")
        session = str(uuid.uuid4())
        argv = self._argv(brief, session)
        command = Command(
            argv=tuple(brief.wrap(argv) if brief.wrap else argv),
            cwd=brief.workspace,
            environment={**self.environment, **_patience(brief), **brief.environment},
            stdin=prompt,
        )
        limits = Limits(timeout_seconds=brief.timeout_seconds, stall_seconds=brief.stall_seconds)
        spending = SpendingLimit(brief.limit, stop)
        heard = _Heard(Telling(listener), spending)
        stderr = Capture()
        try:
            ended = await run_process(command, Lines(heard.line), stderr, limits=limits, stop=spending)
        except CannotStart as failure:
            if failure.stage == "exec" and failure.number != errno.E2BIG:
                raise AgentMissing(str(failure) if brief.wrap else _missing(str(failure))) from None
            return AgentResult(Outcome.AGENT_FAILED, str(failure))
        await heard.telling.end()
        stream = heard.stream
        outcome, reason, wait = _ending(ended, stream, clean(stderr.captured().text), brief, spending)
        return AgentResult(
            outcome=outcome,
            reason=reason,
            final_text=stream.final_text,
            usage=stream.usage,
            version=stream.version,
            model=stream.model,
            session=stream.session or session,
            exit_code=ended.exit_code,
            retry_after_seconds=wait,
        )

    def _argv(self, brief: Brief, session: str) -> list[str]:
        argv = [self._program(), "-p", "--output-format", "stream-json", "--include-partial-messages", "--verbose"]
        argv += [
            "--permission-mode",
            "acceptEdits",
            "--tools",
            ",".join(TOOLS),
            "--allowedTools",
            ",".join(ALLOWED_TOOLS),
        ]
        # Settings, hooks and tool servers of the repository would run without a question.
        argv += ["--setting-sources", "user", "--strict-mcp-config", "--session-id", session]
        if self._model:
            argv += ["--model", self._model]
        if brief.limit is not None:
            argv += ["--max-budget-usd", f"{to_usd(brief.limit):f}"]
        return argv

    def _program(self) -> str:
        """The program's path. Raises AgentMissing."""
        if found := shutil.which(Path(self._binary).expanduser(), path=self.environment["PATH"]):
            return str(Path(found).absolute())
        path = Path(self._binary).expanduser()
        if path.is_dir():
            raise AgentMissing(_missing(f"{path} is a folder."))
        if path.exists():
            raise AgentMissing(_missing(f"{path} is not executable."))
        where = "" if path.is_absolute() else " on the PATH"
        raise AgentMissing(_missing(f"{path} was not found{where}."))


class _Heard:
    """Hands on what the stream means, and watches the money."""

    def __init__(self, telling: Telling, spending: SpendingLimit) -> None:
        self.stream = ClaudeStream()
        self.telling = telling
        self._spending = spending

    async def line(self, line: Line) -> bool:
        """Take one line of the stream."""
        if not line.whole:
            await self.telling.say(f"(An event of {line.size} bytes was too long to be read.)\n")
            return True
        heard = self.stream.take(line.text)
        usage = self.stream.usage if heard.spent else None
        if usage is not None:
            self._spending.note(usage)
        if heard.text or usage is not None:
            await self.telling.say(heard.text, usage)
        return heard.works


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    environment = clean_environment(environ) | QUIET | first_given(environ, *CREDENTIALS)
    environment |= {name: environ[name] for name in PASSED_ON if environ.get(name)}
    # An empty value would mean the workspace, and a relative one be looked for in it.
    if folder := environ.get("CLAUDE_CONFIG_DIR"):
        environment["CLAUDE_CONFIG_DIR"] = str(Path(folder).expanduser().absolute())
    return environment


def _patience(brief: Brief) -> dict[str, str]:
    """A command that hangs shall be the agent's problem before it looks like a stalled agent."""
    longest = int(min(LONGEST_COMMAND_SECONDS, brief.stall_seconds * 0.8) * 1000)
    return {"BASH_MAX_TIMEOUT_MS": str(longest), "BASH_DEFAULT_TIMEOUT_MS": str(min(longest, 120_000))}


def _safe(prompt: str) -> bytes:
    """The prompt as stdin takes it. One that begins with a slash would be a command of the program's own."""
    text = f"Task:\n{prompt}" if prompt.lstrip().startswith("/") else prompt
    return text.encode("utf-8", "replace")


def _ending(ended: ProcessResult, stream: ClaudeStream, stderr: str, brief: Brief, spending: SpendingLimit) -> Ending:
    if ended.ended is not Ended.EXITED:
        return (*outcome_of_stopped(ended, brief, over_budget=spending.reached), None)
    return outcome_of(stream, ended.exit_code, stderr, datetime.now(UTC))


def _missing(why: str) -> str:
    """A sentence that says what to do."""
    return f"{why} Install Claude Code (https://code.claude.com) or set CLAUDE_BIN to its program."
