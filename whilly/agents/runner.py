"""The one protocol over which every agent runs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from whilly.core.evidence import Usage
from whilly.core.money import Micros
from whilly.core.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Brief:
    """What an agent is given: the prompt, the place, the limits."""

    prompt: str
    workspace: Path
    key_files: tuple[str, ...] = ()
    task: str = ""
    epoch: int = 1
    timeout_seconds: float = 3600
    stall_seconds: float = 900
    """Without a sign of work for so long, the agent counts as stuck."""
    limit: Micros | None = None
    """The agent is stopped at the first sign that it spent so much; for a limit that may be raised, leave it out."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the clean environment that the runner builds."""
    wrap: Callable[[list[str]], list[str]] | None = None
    """Puts a command into the worker's isolation."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Told while the agent runs."""

    text: str = ""
    """New transcript text."""
    usage: Usage | None = None
    """All that this run has consumed so far, where the agent says it."""


Listener = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a run ended, as far as the agent's side can tell.

    COMPLETED here means: it says so, in the agreed way. RELEASED means: `stop` was set, for a reason of the caller's.
    """

    outcome: Outcome
    reason: str = ""
    final_text: str = ""
    usage: Usage = Usage()
    version: str = ""
    model: str = ""
    session: str = ""
    exit_code: int | None = None
    retry_after_seconds: int | None = None


class AgentRunner(Protocol):
    """Runs one agent CLI in a workspace and says what happened."""

    @property
    def name(self) -> str:
        """As `--agent` takes it."""

    async def probe(self) -> str:
        """The installed version. Raises AgentMissing with a sentence that says what to install or set."""

    async def run(self, brief: Brief, listener: Listener, stop: "StopSignal") -> AgentResult:
        """Work until the agent ends, a limit is reached or `stop` is set; nothing of its process tree is left then.

        The agent waits while the listener works, so the listener should be quick. Raises AgentMissing.
        """


class StopSignal(Protocol):
    """Tells a running agent to end. An `asyncio.Event` is one."""

    def is_set(self) -> bool:
        """Whether the agent shall end now."""

    async def wait(self) -> object:
        """Return when it is set."""


@runtime_checkable
class Deadline(Protocol):
    """What a stop signal may have besides: a moment at which the agent is dead, whatever became of its worker."""

    dead_by: float | None
    """By a clock that goes on while the machine sleeps (`supervisor.sleepless`); None: there is none."""

    async def postponed(self) -> object:
        """Return when the moment is another one."""


class AgentMissing(Exception):
    """The agent's program cannot be run here; the text says what to do."""
