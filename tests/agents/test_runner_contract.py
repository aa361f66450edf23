"""What every agent promises, whatever its program: one contract, tried on each.

A new agent is added by a function that makes its program act in each of the ways of `WAYS`.
"""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.agents.families import PLAIN, alive
from tests.agents.listening import Ear, brief
from whilly.agents.claude import ClaudeCode
from whilly.agents.runner import AgentMissing, AgentRunner
from whilly.agents.script import read_scripts
from whilly.agents.scripted import ScriptedAgent
from whilly.core.outcome import Outcome

DIME = {"cost_usd": 0.1, "input_tokens": 25_000}
BACKGROUND = "setsid sleep 9995 >/dev/null 2>&1 &"

WAYS: Mapping[str, list[dict[str, object]]] = {
    "complete": [{"print": "working"}, {"usage": DIME}, {"write": {"path": "made.txt", "content": "x"}}],
    "incomplete": [{"complete": False}],
    "ask": [{"blocked": "Which database?"}],
    "crash": [{"print": "working"}, {"crash": "SIGKILL"}],
    "hang": [{"usage": DIME}, {"print": "working"}, {"hang": True}],
    "deaf": [{"ignore_term": True}, {"print": "working"}, {"hang": True}],
    "spend": [{"usage": DIME}, {"sleep": 0.05}] * 50,
    "leave": [{"shell": BACKGROUND}],
    "noise": [{"raw": "Loaded credentials.\n<promise>COMPLETE</promise>\n"}, {"complete": False}],
}


def scripted(folder: Path, way: str) -> AgentRunner:
    return ScriptedAgent(PLAIN, read_scripts(json.dumps({"*": WAYS[way]}), "contract"))


def claude(folder: Path, way: str) -> AgentRunner:
    """A small program that speaks as Claude Code does."""
    program = folder / "claude"
    program.write_text(f"#!{sys.executable} -IS\nSTEPS = {WAYS[way]!r}\n{CLAUDE}", encoding="utf-8")
    program.chmod(0o755)
    return ClaudeCode(PLAIN, binary=str(program))


CLAUDE = """
import json, os, signal, subprocess, sys, time

def tell(**event):
    print(json.dumps(event), flush=True)

def say(text, **usage):
    message = {"id": str(time.monotonic_ns()), "model": "claude-opus-5-5", "usage": usage}
    tell(type="assistant", message=message | {"content": [{"type": "text", "text": text}]})

if sys.argv[1:] == ["--version"]:
    sys.exit(print("1.2.3 (Claude Code)"))
tell(type="system", subtype="init", session_id="s", model="claude-opus-5-5", claude_code_version="1.2.3")
end, spent = "<promise>COMPLETE</promise>", 0
for ((step, value),) in (step.items() for step in STEPS):
    if step == "print":
        say(value)
    elif step == "usage":
        spent += value["cost_usd"]
        say("", input_tokens=value["input_tokens"])
    elif step == "write":
        open(value["path"], "w").write(value["content"])
    elif step == "complete":
        end = ""
    elif step == "blocked":
        end = f"<promise>BLOCKED: {value}</promise>"
    elif step == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    elif step == "ignore_term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif step == "hang":
        time.sleep(3600)
    elif step == "sleep":
        time.sleep(value)
    elif step == "shell":
        subprocess.run(value, shell=True)
    elif step == "raw":
        print(value, end="")
tell(type="result", subtype="success", is_error=False, num_turns=1, result=f"Done.\\n{end}", total_cost_usd=spent)
"""

Making = Callable[[Path, str], AgentRunner]


@pytest.fixture(params=[scripted, claude], ids=lambda make: str(make.__name__))
def make(request: pytest.FixtureRequest) -> Making:
    making: Making = request.param
    return making


@pytest.fixture
def cookie() -> str:
    return f"COOKIE_{uuid.uuid4().hex}"


async def test_a_completed_task(make: Making, tmp_path: Path) -> None:
    ear = Ear()
    runner = make(tmp_path, "complete")
    result = await runner.run(brief(tmp_path), ear, asyncio.Event())
    assert (result.outcome, result.reason, result.exit_code) == (Outcome.COMPLETED, "", 0)
    assert result.final_text.startswith("Done.")
    assert result.version == await runner.probe()
    assert "working\n" in ear.text
    assert (tmp_path / "made.txt").exists()
    assert result.usage.cost == 100_000
    assert ear.usages[-1].cost == 100_000


@pytest.mark.parametrize(
    ("way", "outcome", "words"),
    [
        ("incomplete", Outcome.INCOMPLETE, "without the completion marker"),
        ("ask", Outcome.AGENT_BLOCKED, "Which database?"),
        ("crash", Outcome.AGENT_FAILED, "SIGKILL"),
        ("noise", Outcome.INCOMPLETE, "without the completion marker"),
    ],
)
async def test_other_ends(make: Making, tmp_path: Path, way: str, outcome: Outcome, words: str) -> None:
    result = await make(tmp_path, way).run(brief(tmp_path), Ear(), asyncio.Event())
    assert (result.outcome, words in result.reason) == (outcome, True), result.reason


async def test_the_time_limit(make: Making, tmp_path: Path, cookie: str) -> None:
    wanted = brief(tmp_path, timeout_seconds=0.8, environment={cookie: "1"})
    result = await make(tmp_path, "hang").run(wanted, Ear(), asyncio.Event())
    assert (result.outcome, result.usage.cost) == (Outcome.TIMED_OUT, 100_000)
    assert alive(cookie) == []


async def test_silence(make: Making, tmp_path: Path) -> None:
    result = await make(tmp_path, "hang").run(brief(tmp_path, stall_seconds=0.8), Ear(), asyncio.Event())
    assert result.outcome is Outcome.STALLED


@pytest.mark.parametrize("way", ["hang", "deaf"])
async def test_stopping(make: Making, tmp_path: Path, cookie: str, way: str) -> None:
    ear = Ear("working")
    began = time.monotonic()
    result = await make(tmp_path, way).run(brief(tmp_path, environment={cookie: "1"}), ear, ear.heard)
    assert result.outcome is Outcome.RELEASED
    assert time.monotonic() - began < 10
    assert alive(cookie) == []


async def test_money(make: Making, tmp_path: Path) -> None:
    """A dime each time, and half a dollar to spend: one event more at most."""
    result = await make(tmp_path, "spend").run(brief(tmp_path, limit=500_000), Ear(), asyncio.Event())
    assert result.outcome is Outcome.OVER_BUDGET
    assert result.usage.cost is not None
    assert 500_000 <= result.usage.cost <= 600_000


async def test_nothing_is_left_after_a_good_end(make: Making, tmp_path: Path, cookie: str) -> None:
    result = await make(tmp_path, "leave").run(brief(tmp_path, environment={cookie: "1"}), Ear(), asyncio.Event())
    assert result.outcome is Outcome.COMPLETED
    assert alive(cookie) == []


async def test_cancelling_the_call(make: Making, tmp_path: Path, cookie: str) -> None:
    ear = Ear("working")
    wanted = brief(tmp_path, environment={cookie: "1"})
    run = asyncio.create_task(make(tmp_path, "deaf").run(wanted, ear, asyncio.Event()))
    async with asyncio.timeout(20):
        await ear.heard.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert alive(cookie) == []


async def test_an_isolation_that_is_not_there(make: Making, tmp_path: Path) -> None:
    runner = make(tmp_path, "complete")
    with pytest.raises(AgentMissing, match="/nowhere/bwrap"):
        await runner.run(brief(tmp_path, wrap=lambda argv: ["/nowhere/bwrap", *argv]), Ear(), asyncio.Event())
