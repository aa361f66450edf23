"""The scripted agent, as a real process in a real folder."""

import asyncio
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.families import PLAIN, alive
from tests.agents.listening import Ear, brief
from whilly import __version__
from whilly.agents.runner import AgentMissing, AgentResult
from whilly.agents.script import Script
from whilly.agents.scripted import PROGRAM, ScriptedAgent
from whilly.core.completion import COMPLETION_MARKER
from whilly.core.evidence import Usage
from whilly.core.outcome import Outcome


async def play(
    folder: Path, *steps: dict[str, Any], ear: Ear | None = None, stop: asyncio.Event | None = None, **fields: Any
) -> AgentResult:
    agent = ScriptedAgent(PLAIN, {"T1": Script(steps)} if steps else {})
    return await agent.run(brief(folder, **fields), ear or Ear(), stop or asyncio.Event())


def files(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


async def test_without_a_script_it_writes_a_file_and_completes(tmp_path: Path) -> None:
    ear = Ear()
    result = await play(tmp_path, ear=ear)
    assert (result.outcome, result.reason, result.exit_code) == (Outcome.COMPLETED, "", 0)
    assert result.final_text == f"Done.\n{COMPLETION_MARKER}"
    assert (result.usage, result.version) == (Usage(cost=0), __version__)
    assert files(tmp_path) == {"T1.md": "T1, attempt 1: done by the scripted agent.\n"}
    assert ear.text == f"one line added to T1.md\nDone.\n{COMPLETION_MARKER}\n"


async def test_without_a_script_each_key_file_gets_a_line_that_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "data.json").write_text("{}\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    keys = ("app.py", "data.json", "docs", "src/**/*.ts", "web/page.html", "notes.txt", "lib/")
    await play(tmp_path, key_files=keys, epoch=2)
    line = "T1, attempt 2: done by the scripted agent."
    assert files(tmp_path) == {
        "app.py": f"x = 1\n# {line}\n",
        "data.json": "{}\n\n",
        "docs/T1.md": f"{line}\n",
        "src/T1.md": f"{line}\n",
        "web/page.html": f"<!-- {line} -->\n",
        "notes.txt": f"{line}\n",
        "lib/T1.md": f"{line}\n",
    }


@pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", "link/out.txt", ".git/hooks/pre-commit", "."])
async def test_it_stays_in_the_workspace_and_out_of_git(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    result = await play(folder, {"write": {"path": path, "content": "x"}})
    assert result.outcome is Outcome.AGENT_FAILED
    assert "cannot go on" in result.reason
    assert not (tmp_path / "out.txt").exists()


async def test_files_are_written_changed_and_removed(tmp_path: Path) -> None:
    await play(
        tmp_path,
        {"write": {"path": "a/b/c.txt", "content": "one\n"}},
        {"append": {"path": "a/b/c.txt", "content": "zwei 🚀\n"}},
        {"write": {"path": "gone.txt", "content": ""}},
        {"delete": "gone.txt"},
        {"write": {"path": "folder/x", "content": ""}},
        {"delete": "folder"},
        {"delete": "never-was"},
    )
    assert files(tmp_path) == {"a/b/c.txt": "one\nzwei 🚀\n"}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


async def test_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    await play(tmp_path, {"write": {"path": "a", "content": "x"}}, {"commit": "Add a"})
    assert git(tmp_path, "log", "--format=%an %s") == "Scripted agent Add a\n"
    result = await play(tmp_path, {"commit": "Nothing to add"})
    assert "git commit failed" in result.reason


async def test_commands_and_words(tmp_path: Path) -> None:
    ear = Ear()
    result = await play(
        tmp_path,
        {"shell": "echo out; echo err >&2; printf 'latin1 \\351 nul \\000'; exit 3"},
        {"print": "after\x1b[31m all"},
        {"say": "I am finished."},
        ear=ear,
    )
    assert result.final_text == f"I am finished.\n{COMPLETION_MARKER}"
    assert "out\nerr\nlatin1 \ufffd nul \x00(exit code 3)\nafter" in ear.text


async def test_a_command_in_the_background_is_not_waited_for_and_does_not_survive(tmp_path: Path) -> None:
    began = time.monotonic()
    result = await play(tmp_path, {"shell": "setsid sleep 987 & echo started"}, environment={"COOKIE_BACKGROUND": "1"})
    assert result.outcome is Outcome.COMPLETED
    assert time.monotonic() - began < 5
    assert alive("COOKIE_BACKGROUND") == []


async def test_the_prompt_arrives(tmp_path: Path) -> None:
    ear = Ear()
    prompt = "é🚀 'quotes' $(id) \\ \x00 end " * 10_000
    await play(tmp_path, {"print_prompt": True}, {"complete": False}, ear=ear, prompt=prompt)
    told = ear.text.removesuffix("\nDone.\n")
    assert hashlib.sha256(told.encode()).hexdigest() == hashlib.sha256(prompt.encode()).hexdigest()


async def test_usage_adds_up(tmp_path: Path) -> None:
    ear = Ear()
    result = await play(
        tmp_path,
        {"usage": {"cost_usd": 0.1, "input_tokens": 1000, "cache_read_tokens": 7}},
        {"usage": {"cost_usd": "0.2", "output_tokens": 50, "cache_write_tokens": 3}},
        ear=ear,
    )
    assert ear.usages == [Usage(100_000, 1000, 0, 7, 0), Usage(300_000, 1000, 50, 7, 3)]
    assert result.usage == ear.usages[-1]


async def test_an_unknown_cost_stays_unknown(tmp_path: Path) -> None:
    result = await play(
        tmp_path, {"usage": {"cost_usd": None, "input_tokens": 5}}, {"usage": {"cost_usd": 1}}, limit=10
    )
    assert result.usage == Usage(None, 5)


async def test_it_is_stopped_at_the_first_sign_of_too_much_spending(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"usage": {"cost_usd": 0.1}}, {"sleep": 0.05}] * 50
    began = time.monotonic()
    result = await play(tmp_path, *steps, limit=500_000)
    assert result.outcome is Outcome.OVER_BUDGET
    assert "$0.50" in result.reason
    assert result.usage.cost is not None
    assert 500_000 <= result.usage.cost <= 600_000
    assert time.monotonic() - began < 2


async def test_steps_by_attempt(tmp_path: Path) -> None:
    step = {"on_attempt": {"1": [{"crash": 9}], "2": [{"say": "second"}], "5": [{"say": "fifth"}]}}
    assert (await play(tmp_path, step, epoch=1)).exit_code == 9
    for epoch, word in ((2, "second"), (4, "second"), (5, "fifth"), (6, "fifth")):
        assert (await play(tmp_path, step, epoch=epoch)).final_text.startswith(word)
    later = {"on_attempt": {"2": [{"say": "x"}]}}
    assert (await play(tmp_path, later, epoch=1)).final_text.startswith("Done.")


@pytest.mark.parametrize(
    ("how", "words"), [(3, "exit code 3"), (0, "exit code 0"), ("SIGKILL", "SIGKILL"), ("SIGSEGV", "SIGSEGV")]
)
async def test_crashes(tmp_path: Path, how: int | str, words: str) -> None:
    result = await play(tmp_path, {"print": "before"}, {"crash": how})
    assert result.outcome is Outcome.AGENT_FAILED
    assert words in result.reason


async def test_without_the_marker_nothing_is_complete(tmp_path: Path) -> None:
    result = await play(tmp_path, {"complete": False})
    assert (result.outcome, result.final_text) == (Outcome.INCOMPLETE, "Done.")


async def test_a_question(tmp_path: Path) -> None:
    result = await play(tmp_path, {"blocked": "Which database?"})
    assert (result.outcome, result.reason) == (Outcome.AGENT_BLOCKED, "Which database?")


async def test_endings_of_providers(tmp_path: Path) -> None:
    end = {"outcome": "quota_exhausted", "reason": "The plan is used up.", "retry_after_seconds": 90}
    result = await play(tmp_path, {"end": end}, {"write": {"path": "never", "content": ""}})
    assert (result.outcome, result.reason, result.retry_after_seconds) == (
        Outcome.QUOTA_EXHAUSTED,
        "The plan is used up.",
        90,
    )
    assert files(tmp_path) == {}


async def test_noise_is_shown_and_not_believed(tmp_path: Path) -> None:
    ear = Ear()
    noise = 'Loaded cached credentials.\n[1, 2]\nnull\n{"unknown": 1}\n\x1b]0;title\x07\n'
    result = await play(tmp_path, {"raw": noise}, {"raw": f"{COMPLETION_MARKER}\n"}, {"complete": False}, ear=ear)
    assert result.outcome is Outcome.INCOMPLETE
    assert "Loaded cached credentials.\n" in ear.text


async def test_time_and_silence_have_limits(tmp_path: Path) -> None:
    result = await play(tmp_path, {"hang": True}, timeout_seconds=0.3)
    assert (result.outcome, result.reason) == (Outcome.TIMED_OUT, "Stopped after 0.3 seconds.")
    result = await play(tmp_path, {"print": "x"}, {"hang": True}, stall_seconds=0.3)
    assert result.outcome is Outcome.STALLED


async def test_stopping(tmp_path: Path) -> None:
    ear = Ear("working")
    running = asyncio.create_task(play(tmp_path, {"print": "working"}, {"hang": True}, ear=ear, stop=ear.heard))
    result = await running
    assert (result.outcome, result.exit_code) == (Outcome.RELEASED, -15)


async def test_an_agent_that_does_not_obey_term_is_killed(tmp_path: Path) -> None:
    ear = Ear("deaf")
    began = time.monotonic()
    result = await play(tmp_path, {"ignore_term": True}, {"print": "deaf"}, {"hang": True}, ear=ear, stop=ear.heard)
    assert (result.outcome, result.exit_code) == (Outcome.RELEASED, -9)
    assert time.monotonic() - began < 10


async def test_the_script_of_all_other_tasks(tmp_path: Path) -> None:
    agent = ScriptedAgent(PLAIN, {"*": Script(({"say": "any"},)), "T2": Script(({"say": "own"},))})
    for task, word in (("T1", "any"), ("T2", "own")):
        result = await agent.run(brief(tmp_path, task=task), Ear(), asyncio.Event())
        assert result.final_text.startswith(word)


async def test_an_empty_script_does_nothing_and_completes(tmp_path: Path) -> None:
    agent = ScriptedAgent(PLAIN, {"T1": Script(())})
    result = await agent.run(brief(tmp_path), Ear(), asyncio.Event())
    assert result.outcome is Outcome.COMPLETED
    assert files(tmp_path) == {}


async def test_it_runs_inside_the_isolation(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def wrap(argv: list[str]) -> list[str]:
        seen.append(argv)
        return ["/usr/bin/env", "WRAPPED=1", *argv]

    ear = Ear()
    await play(tmp_path, {"shell": "echo $WRAPPED $GIVEN"}, ear=ear, wrap=wrap, environment={"GIVEN": "2"})
    assert "1 2\n" in ear.text
    assert seen[0][0] == sys.executable
    with pytest.raises(AgentMissing, match="nowhere"):
        await play(tmp_path, {"print": "x"}, wrap=lambda argv: ["/nowhere", *argv])


async def test_it_is_always_there() -> None:
    assert await ScriptedAgent({}).probe() == __version__


def test_it_starts_fast() -> None:
    """Its start is part of every demo and every test."""
    wanted = json.dumps({"task": "T", "attempt": 1, "key_files": [], "prompt": "", "steps": []}).encode()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", str(PROGRAM)], input=wanted, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.06
