"""Which agents this worker can run, as far as their programs are there."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from whilly.agents.runner import AgentMissing, AgentRunner

log = logging.getLogger(__name__)


class Roster:
    """The worker's agents; the first one is for tasks that name none. Each missing one is told once."""

    def __init__(
        self, runners: Mapping[str, AgentRunner], tell: Callable[[str], None], default_is_gone: Callable[[], None]
    ) -> None:
        """`default_is_gone` is called when the default agent is missing: without it the worker must not claim."""
        if not runners:
            raise ValueError("a worker needs an agent")
        self._runners = dict(runners)
        self.default = next(iter(runners))
        """The agent for tasks that name none."""
        self._tell = tell
        self._default_is_gone = default_is_gone
        self._versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        """Why each missing agent cannot be run, by its name."""

    @property
    def available(self) -> tuple[str, ...]:
        """Names of the agents that can be run, the default first."""
        return tuple(name for name in self._runners if name not in self.missing)

    async def look(self) -> None:
        """Find out which agents are there."""
        await asyncio.gather(*(self._probe(name) for name in self._runners))

    def runner(self, name: str) -> AgentRunner:
        """The agent of that name; the default for an empty one. Raises AgentMissing."""
        wanted = name or self.default
        if wanted in self.missing:
            raise AgentMissing(self.missing[wanted])
        if wanted not in self._runners:
            raise AgentMissing(
                f"This worker was not started with the agent {wanted!r}; it has {', '.join(self._runners)}."
            )
        return self._runners[wanted]

    def version(self, name: str) -> str:
        """What the agent said about itself when it was looked for."""
        return self._versions.get(name, "")

    def strike(self, name: str, why: str) -> None:
        """The agent's program is not there: offer it no more."""
        if name in self.missing or name not in self._runners:
            return
        self.missing[name] = why
        self._tell(why)
        if name == self.default:
            self._default_is_gone()

    async def _probe(self, name: str) -> None:
        try:
            self._versions[name] = await self._runners[name].probe()
        except AgentMissing as missing:
            self.strike(name, str(missing))
