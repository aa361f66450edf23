"""Agents by name."""

import os
import subprocess
import sys

import pytest

from whilly.agents.registry import AGENTS, AgentSettings, UnknownAgent, runner_named
from whilly.agents.script import Script


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_is_what_its_name_says(name: str) -> None:
    assert runner_named(name, AgentSettings({"PATH": "/bin"}, {"T1": Script(())})).name == name


@pytest.mark.parametrize("name", ["", "Claude", "codex"])
def test_an_unknown_name_is_answered_with_those_that_exist(name: str) -> None:
    with pytest.raises(UnknownAgent, match=r"There is no agent .*; there are: scripted, claude\."):
        runner_named(name, AgentSettings({}))


def test_agents_load_nothing_heavy() -> None:
    """They run in workers that have neither database nor web framework, and start with the worker."""
    program = (
        "import sys; from whilly.agents.registry import *; s = AgentSettings({}); [runner_named(n, s) for n in AGENTS];"
        "print(*{'asyncpg', 'fastapi', 'pydantic', 'psutil', 'httpx2', 'typer'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
