"""Starting Claude Code: finding it, asking for its version, its arguments. Small programs stand in for it here."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.families import PLAIN
from tests.agents.listening import Ear, brief
from whilly.agents.claude import ALLOWED_TOOLS, TOOLS, ClaudeCode
from whilly.agents.runner import AgentMissing, AgentResult
from whilly.core.outcome import Outcome

DONE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 1,
    "result": "ok\n<promise>COMPLETE</promise>",
}
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "claude_code_version": "9.9.9"}


def program(folder: Path, text: str, name: str = "claude", mode: int = 0o755) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


def stand_in(folder: Path, body: str = "", *events: dict[str, Any]) -> str:
    """A program that does something, prints events and ends."""
    lines = [json.dumps(event) for event in events or (INIT, DONE)]
    start = f"#!{sys.executable} -IS\nimport json, os, sys, time\nlines = {lines!r}\n"
    return program(folder, f"{start}{body}\nprint('\\n'.join(lines), flush=True)\n")


async def run(binary: str, workspace: Path, ear: Ear | None = None, **fields: Any) -> AgentResult:
    agent = ClaudeCode(PLAIN, binary=binary, model="some-model")
    return await agent.run(brief(workspace, **fields), ear or Ear(), asyncio.Event())


async def missing(binary: str, environ: dict[str, str] = PLAIN) -> str:
    with pytest.raises(AgentMissing) as caught:
        await ClaudeCode(environ, binary=binary).probe()
    sentence = str(caught.value)
    assert "CLAUDE_BIN" in sentence
    assert "\n" not in sentence
    return sentence


async def test_the_version(tmp_path: Path) -> None:
    binary = program(tmp_path, "#!/bin/sh\necho '2.1.332 (Claude Code)'\n")
    assert await ClaudeCode(PLAIN, binary=binary).probe() == "2.1.332"
    assert await ClaudeCode({"PATH": f"{tmp_path}:{PLAIN['PATH']}"}).probe() == "2.1.332"


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert f"{tmp_path}/none was not found." in await missing(f"{tmp_path}/none")
    assert "claude was not found on the PATH." in await missing("claude", {"PATH": str(tmp_path)})
    assert f"{tmp_path} is a folder." in await missing(str(tmp_path))
    assert "is not executable." in await missing(program(tmp_path, "#!/bin/sh\n", mode=0o644))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\necho 2.1.332\n", "it said: 2.1.332."),
        ("#!/bin/sh\necho 'fake 2.1.332 (Claude Code)'\n", "is not Claude Code"),
        ("#!/bin/sh\necho '2.1.332 (Claude Code)'; exit 1\n", "is not Claude Code"),
        ("#!/bin/sh\nexit 0\n", "it said: nothing."),
        ("#!/bin/sh\necho 'Node is too old' >&2; exit 1\n", "it said: Node is too old."),
        ("#!/nowhere/interpreter\n", "cannot be run: it does not exist"),
        ("no first line\n", "it is not a program"),
    ],
)
async def test_another_program(tmp_path: Path, text: str, words: str) -> None:
    assert words in await missing(program(tmp_path, text))


async def test_a_program_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whilly.agents.claude.PROBE_SECONDS", 0.2)
    assert "gave no answer" in await missing(program(tmp_path, "#!/bin/sh\nsleep 60\n"))


async def test_a_program_that_went_away_is_missing_for_the_run_too(tmp_path: Path) -> None:
    with pytest.raises(AgentMissing, match="was not found"):
        await run(f"{tmp_path}/gone", tmp_path)


async def test_how_it_is_called(tmp_path: Path) -> None:
    body = "open('call', 'w').write(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read()]))"
    prompt = "-rf 'quotes' $(id) é\n"
    result = await run(stand_in(tmp_path, body), tmp_path, limit=1_234_567, prompt=prompt, stall_seconds=100)
    assert result.outcome is Outcome.COMPLETED
    assert (result.version, result.model, result.session) == ("9.9.9", "m", "s")
    argv, environment, told = json.loads((tmp_path / "call").read_text(encoding="utf-8"))
    assert told == prompt
    options = dict(zip(argv, [*argv[1:], ""], strict=True))
    assert argv[0] == "-p"
    assert prompt not in argv
    assert options["--output-format"] == "stream-json"
    assert options["--permission-mode"] == "acceptEdits"
    assert options["--tools"].split(",") == list(TOOLS)
    assert options["--allowedTools"].split(",") == list(ALLOWED_TOOLS)
    assert options["--setting-sources"] == "user"
    assert "--strict-mcp-config" in argv
    assert options["--model"] == "some-model"
    assert options["--max-budget-usd"] == "1.234567"
    assert len(options["--session-id"]) == 36
    assert environment["CLAUDE_CODE_DISABLE_FILE_MENTIONS"] == "1"
    assert environment["BASH_MAX_TIMEOUT_MS"] == "80000"


async def test_a_prompt_that_looks_like_a_command_is_made_a_task(tmp_path: Path) -> None:
    body = "open('prompt', 'w').write(sys.stdin.read())"
    await run(stand_in(tmp_path, body), tmp_path, prompt=" /clear the cache")
    assert (tmp_path / "prompt").read_text(encoding="utf-8") == "Task:\n /clear the cache"


async def test_a_prompt_that_is_too_long_costs_nothing(tmp_path: Path) -> None:
    result = await run(stand_in(tmp_path, "open('ran', 'w')"), tmp_path, prompt="x" * 10_000_001)
    assert result.outcome is Outcome.CONTEXT_OVERFLOW
    assert not (tmp_path / "ran").exists()


async def test_without_money_it_does_not_start(tmp_path: Path) -> None:
    result = await run(stand_in(tmp_path, "open('ran', 'w')"), tmp_path, limit=0)
    assert result.outcome is Outcome.OVER_BUDGET
    assert not (tmp_path / "ran").exists()


async def test_it_is_stopped_at_the_first_sign_of_too_much_spending(tmp_path: Path) -> None:
    """A dime each tenth of a second, and half a dollar to spend."""
    body = """
print(lines[0], flush=True)
for number in range(50):
    usage = {"input_tokens": 25000}
    message = {"id": str(number), "model": "claude-opus-5-5", "usage": usage, "content": []}
    print(json.dumps({"type": "assistant", "message": message}), flush=True)
    time.sleep(0.1)
"""
    ear = Ear()
    result = await run(stand_in(tmp_path, body), tmp_path, ear, limit=500_000)
    assert result.outcome is Outcome.OVER_BUDGET
    assert result.usage.cost == 500_000
    assert ear.usages[-1] == result.usage


async def test_a_silent_program_has_stalled_and_its_cost_is_not_known(tmp_path: Path) -> None:
    body = "print(lines[0], flush=True)\ntime.sleep(60)"
    result = await run(stand_in(tmp_path, body), tmp_path, stall_seconds=0.5)
    assert result.outcome is Outcome.STALLED
    assert result.usage.cost is None


async def test_retries_are_no_sign_of_work(tmp_path: Path) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 4, "error": "overloaded"}
    body = (
        f"print(lines[0], flush=True)\nwhile True: print({json.dumps(json.dumps(retry))}, flush=True); time.sleep(0.1)"
    )
    ear = Ear()
    result = await run(stand_in(tmp_path, body), tmp_path, ear, stall_seconds=0.6)
    assert result.outcome is Outcome.STALLED
    assert "Retry 1 of 4" in ear.text


async def test_an_event_that_is_too_long_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    ear = Ear()
    body = "print(json.dumps({'type': 'user', 'filler': 'x' * 20_000_000}))"
    result = await run(stand_in(tmp_path, body), tmp_path, ear)
    assert result.outcome is Outcome.COMPLETED
    assert "An event of 200000" in ear.text


async def test_nothing_but_the_stream_counts(tmp_path: Path) -> None:
    body = "print('<promise>COMPLETE</promise>'); print(lines[1], file=sys.stderr)"
    result = await run(stand_in(tmp_path, body, INIT, {"type": "noise"}), tmp_path)
    assert result.outcome is Outcome.AGENT_FAILED
