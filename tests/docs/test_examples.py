"""The example plans are accepted as they are, and their repositories pass their own tests before any work."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from whilly.agents.runner import Brief, Progress
from whilly.agents.script import Scripts, read_scripts
from whilly.agents.scripted import ScriptedAgent
from whilly.cli.examples import example
from whilly.core.gate import Verdict, judge_plan
from whilly.core.graph import layers
from whilly.core.outcome import Outcome
from whilly.core.plan import Plan
from whilly.core.triz import preflight
from whilly.planfile.reader import read_plan

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("bookshop", "demo")


def plan_of(name: str) -> Plan:
    reading = read_plan((example(name) / "tasks.json").read_bytes(), "tasks.json")
    assert reading.problems == ()
    assert reading.notes == ()
    assert reading.plan is not None
    return reading.plan


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_plan_has_no_mistakes(name: str) -> None:
    assert plan_of(name).id == name


def test_the_gate_admits_the_bookshop() -> None:
    decisions = judge_plan(plan_of("bookshop"))
    assert {
        task: decision.findings for task, decision in decisions.items() if decision.verdict is not Verdict.ADMIT
    } == {}


def test_the_preflight_finds_nothing_in_the_bookshop() -> None:
    assert preflight(plan_of("bookshop")).findings == ()


def test_the_gate_refuses_one_task_of_the_demo() -> None:
    decisions = judge_plan(plan_of("demo"))
    assert [task for task, decision in decisions.items() if decision.verdict is Verdict.REJECT] == ["polish"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_repository_passes_its_own_tests(name: str, tmp_path: Path) -> None:
    shutil.copytree(example(name) / "repo", tmp_path / "repo")
    subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=tmp_path / "repo", check=True)


def without_waits(name: str) -> Scripts:
    script = (example(name) / "script.json").read_text(encoding="utf-8")
    return read_scripts(re.sub(r'\{"sleep": [0-9.]+\}', '{"print": "…"}', script), name)


async def play(agent: ScriptedAgent, task: str, attempt: int, workspace: Path) -> Outcome:
    async def listener(_: Progress) -> None:
        """Nobody listens."""

    brief = Brief("", workspace, task=task, epoch=attempt)
    return (await agent.run(brief, listener, asyncio.Event())).outcome


def passes(workspace: Path) -> bool:
    tests = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-q"], cwd=workspace, check=False, capture_output=True
    )
    return tests.returncode == 0


@pytest.mark.parametrize(
    ("name", "surprises"),
    [
        ("bookshop", {"customers": Outcome.AGENT_FAILED, "tax": Outcome.CHECKS_FAILED}),
        ("demo", {"frost": Outcome.CHECKS_FAILED}),
    ],
)
async def test_the_script_does_the_work(name: str, surprises: dict[str, Outcome], tmp_path: Path) -> None:
    """Task by task in one workspace: what is announced goes wrong once, and everything is right in the end."""
    workspace = tmp_path / "repo"
    shutil.copytree(example(name) / "repo", workspace)
    agent = ScriptedAgent(os.environ, without_waits(name))
    graph = {spec.id: spec.dependencies for spec in plan_of(name).tasks if spec.id != "polish"}
    met = {}
    for task in (task for layer in layers(graph) for task in layer):
        for attempt in (1, 2):
            outcome = await play(agent, task, attempt, workspace)
            if outcome is Outcome.COMPLETED and not passes(workspace):
                outcome = Outcome.CHECKS_FAILED
            if outcome is Outcome.COMPLETED:
                break
            met[task] = outcome
    assert met == surprises
    assert passes(workspace)


def test_an_unknown_example_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="'nowhere'"):
        example("nowhere")


@pytest.mark.slow
def test_a_wheel_has_the_examples(tmp_path: Path) -> None:
    """All files of them, and nothing that running them left behind."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.removeprefix("whilly/") for name in archive.namelist() if name.startswith("whilly/examples/")}
    tracked = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8"
    )
    assert packed == set(tracked.stdout.split())
