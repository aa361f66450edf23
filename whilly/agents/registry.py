"""Every agent by its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whilly.agents.runner import AgentRunner
from whilly.agents.script import NO_SCRIPTS, Scripts
from whilly.core.errors import WhillyError


class UnknownAgent(WhillyError):
    """There is no agent by that name."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the agents need to know of the person who started the worker."""

    environ: Mapping[str, str]
    """The worker's own environment; agents see an allowed part of it."""
    scripts: Scripts = field(default_factory=lambda: NO_SCRIPTS)
    claude_bin: str = "claude"
    claude_model: str | None = None
    claude_proxy_url: str | None = None
    claude_no_proxy: str = "localhost,127.0.0.1,::1"


def _scripted(settings: AgentSettings) -> AgentRunner:
    from whilly.agents.scripted import ScriptedAgent

    return ScriptedAgent(settings.environ, settings.scripts)


def _claude(settings: AgentSettings) -> AgentRunner:
    from whilly.agents.claude import ClaudeCode

    return ClaudeCode(
        settings.environ,
        binary=settings.claude_bin,
        model=settings.claude_model,
        proxy_url=settings.claude_proxy_url,
        no_proxy=settings.claude_no_proxy,
    )


AGENTS: Mapping[str, Callable[[AgentSettings], AgentRunner]] = {"scripted": _scripted, "claude": _claude}
"""As `--agent` and a task's `agent` name them."""


def runner_named(name: str, settings: AgentSettings) -> AgentRunner:
    """The agent of that name. Raises UnknownAgent."""
    if name not in AGENTS:
        raise UnknownAgent(f"There is no agent {name!r}; there are: {', '.join(AGENTS)}.")
    return AGENTS[name](settings)
