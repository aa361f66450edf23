"""Whatever an agent and its checks print, their worker goes on and their result counts."""

import os
import sys
from pathlib import Path

from tests.builders import a_check, a_plan, a_task
from tests.worker.workshop import workshop
from whilly.agents.claude import ClaudeCode
from whilly.store.database import Database

PROGRAM = r"""#!{python} -IS
import json, sys
if "--version" in sys.argv:
    print("2.1.0 (Claude Code)")
    sys.exit()
sys.stdin.read()
ODD = "x\0y \ud83d \x1b]0;title\x07 correct-horse-battery 🚀"
def say(**event):
    sys.stdout.write(json.dumps(event) + "\n")
say(type="system", subtype="init", session_id=ODD, model=ODD, claude_code_version=ODD)
content = [dict(type="text", text=ODD), dict(type="tool_use", id="t", name=ODD, input=dict(command=ODD))]
say(type="assistant", message=dict(id="m", model=ODD, content=content))
say(type="user", message=dict(content=[dict(type="tool_result", tool_use_id="t", content=ODD)]))
sys.stdout.flush()
sys.stdout.buffer.write(b"\xff\xfe \0 no text at all\n")
open(b"odd-\xff.txt", "w").write("done")
result = dict(is_error={failed}, num_turns=1, result=ODD + "\n<promise>COMPLETE</promise>", errors=[ODD])
say(type="result", subtype="success", session_id=ODD, total_cost_usd=0.01, **result)
"""


async def worked(database: Database, tmp_path: Path, *, failed: bool) -> tuple[str, str, str]:
    """Status and transcript of a task, and everything else that is stored of its attempt."""
    program = tmp_path / "claude"
    program.write_text(PROGRAM.format(python=sys.executable, failed=failed), encoding="utf-8")
    program.chmod(0o755)
    environ = {**os.environ, "BANK_API_KEY": "correct-horse-battery"}
    runners = {"claude": ClaudeCode(environ, binary=str(program))}
    async with workshop(database, tmp_path, {}, runners=runners) as shop:
        check = a_check(command=r"printf 'a\000b\377c correct-horse%s\n' -battery")
        await shop.work(a_plan(a_task("T1", checks=(check,))), environment=environ, max_tasks=1)
        stored = str(await shop.room.attempts("T1")) + str(await shop.room.events("T1"))
        return (await shop.room.task("T1"))["status"], await shop.room.transcript("T1"), stored


async def test_odd_bytes_in_every_place_do_no_harm(database: Database, tmp_path: Path) -> None:
    status, transcript, stored = await worked(database, tmp_path, failed=False)

    assert status == "DONE"
    assert "🚀" in transcript
    assert "no text at all" in transcript
    assert "\x1b" not in transcript
    assert "llm.run_finished" in stored
    assert "verification.succeeded" in stored
    assert "correct-horse-battery" not in transcript + stored


async def test_a_failure_in_odd_words_is_told(database: Database, tmp_path: Path) -> None:
    _, _, stored = await worked(database, tmp_path, failed=True)

    assert "agent_failed" in stored
    assert "llm.run_failed" in stored
    assert "correct-horse-battery" not in stored
