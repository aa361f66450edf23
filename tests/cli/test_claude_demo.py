"""The demo plan, worked on by the real Claude Code against a scripted model service on loopback."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent_programs import installed_claude
from tests.cli.conftest import Whilly, git
from tests.fake_llm import COMPLETE_TEXT, running_server, scenario_from_json
from whilly.cli.examples import example

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

LEAVES_A_NOTE = {"steps": [{"shell": "echo done > $(mktemp note-XXXXXX.md)"}, {"text": COMPLETE_TEXT}]}
"""Each task changes a file of its own, so that results merge, and the plan's own tests go on passing."""


@pytest.fixture
def claude_bin() -> str:
    return installed_claude()


def test_claude_code_works_through_the_demo_plan(whilly: Whilly, claude_bin: str, tmp_path: Path) -> None:
    repository, home = tmp_path / "repository", tmp_path / "home"
    shutil.copytree(example("demo") / "repo", repository)
    home.mkdir()
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "A weather station"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)
    with running_server() as service:
        service.scenarios["note"] = scenario_from_json("note", LEAVES_A_NOTE)
        environment = {
            "CLAUDE_BIN": claude_bin,
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "no-key",
            "ANTHROPIC_BASE_URL": service.url("note"),
        }
        applied = whilly("plan", "apply", example("demo") / "tasks.json", "--strict")
        first = whilly("run", "--plan", "demo", "--repo", repository, "--workers", "2", **environment)
        approved = whilly("review", "approve", "demo", "report")
        second = whilly("run", "--plan", "demo", "--repo", repository, **environment)

    assert applied.code == 0, applied.err
    assert first.code == 3, first.out + first.err
    assert approved.code == 0, approved.err
    assert second.code == 0, second.out + second.err
    detail = whilly("task", "show", "demo", "page", "--json").json
    (attempt,) = detail["attempts"]
    assert (attempt["agent"], attempt["outcome"]) == ("claude", "completed")
    assert attempt["agent_version"][0].isdigit()
    assert float(attempt["usage"]["cost_usd"]) > 0
    assert attempt["usage"]["output_tokens"] > 0
    notes = [name for name in git(repository, "ls-tree", "--name-only", "whilly/demo/page").split() if "note-" in name]
    assert len(notes) == 5, "its own note, and those of the four tasks that it builds on"
    assert "mktemp" in whilly("logs", "demo", "page").out
