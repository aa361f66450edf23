"""The quick start of two machines, typed as people find it: a machine joins, works, and the task is DONE."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agents.claude_samples import SAMPLES
from tests.builders import statuses
from tests.cli.conftest import Whilly, git, write_plan
from tests.control_plane import eventually
from tests.server_process import server_process
from whilly.store.database import Database

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="these are lines for a POSIX shell")]

ROOT = Path(__file__).resolve().parents[2]
SECRET = "export WHILLY_WORKER_BOOTSTRAP_TOKEN=$(openssl rand -hex 32)\n"
JOIN_AND_WORK = """\
WORKER_TOKEN=$(whilly worker register \\
    --connect "$WHILLY_CONTROL_URL" \\
    --bootstrap-token "$WHILLY_WORKER_BOOTSTRAP_TOKEN" \\
    --plan "$PLAN_ID")
whilly-worker \\
    --connect "$WHILLY_CONTROL_URL" \\
    --token "$WORKER_TOKEN" \\
    --plan "$PLAN_ID"
"""
LOOK = """\
export PLAN_FILE=examples/demo/tasks.json
export PLAN_ID=demo                   # placeholder convention — your plan id
whilly plan import "$PLAN_FILE"
whilly plan apply "$PLAN_FILE" --strict
whilly plan show "$PLAN_ID"           # ASCII DAG of the imported plan
whilly plan triz "$PLAN_ID"           # deterministic TRIZ/challenge preflight
whilly plan create --id my-plan --name "My plan" --budget 5.00
"""
CONNECT = """\
whilly worker connect $WHILLY_CONTROL_URL \\
    --bootstrap-token "$WHILLY_WORKER_BOOTSTRAP_TOKEN" \\
    --plan demo \\
    --insecure   # dev-only: opts out of the loopback-only HTTP guard
"""


@pytest.fixture
def fake_claude(tmp_path: Path) -> Path:
    """Answers as Claude Code did once, after leaving a note."""
    said = SAMPLES["success-stream"].stdout
    (tmp_path / "said").write_bytes(said.replace(b" <promise>COMPLETE</promise>", rb"\n<promise>COMPLETE</promise>"))
    program = tmp_path / "claude"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo "2.1.332 (Claude Code)"; exit ;; esac\n'
        f"cat >/dev/null; echo done >note.md; cat {tmp_path / 'said'}\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


@pytest.fixture
async def secret() -> str:
    made = await asyncio.create_subprocess_exec(
        "sh", "-c", f"{SECRET}printf %s $WHILLY_WORKER_BOOTSTRAP_TOKEN", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await made.communicate()
    assert len(out) == 64
    return out.decode()


async def test_the_example_can_be_brought_in_and_looked_at(database: Database, database_url: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "WHILLY_DATABASE_URL": database_url,
    }
    shell = await asyncio.create_subprocess_exec(
        "bash", "-euc", LOOK, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(shell.communicate(), 60)
    assert shell.returncode == 0, out.decode()
    assert (await statuses(database, "demo"))["fahrenheit"] == "PENDING"


@pytest.mark.parametrize("lines", [JOIN_AND_WORK, CONNECT], ids=["register", "connect"])
async def test_the_quick_start_ends_with_a_task_that_is_done(
    database: Database,
    database_url: str,
    whilly: Whilly,
    repository: Path,
    tmp_path: Path,
    fake_claude: Path,
    secret: str,
    lines: str,
) -> None:
    plan = write_plan(tmp_path, {"id": "A", "description": "Leave a note."}, plan="demo")
    imported = await asyncio.to_thread(whilly, "plan", "import", plan)
    assert imported.code == 0, imported.err
    async with server_process(WHILLY_DATABASE_URL=database_url, WHILLY_WORKER_BOOTSTRAP_TOKEN=secret) as server:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "WHILLY_CONTROL_URL": server.address,
            "WHILLY_WORKER_BOOTSTRAP_TOKEN": secret,
            "WHILLY_DATA_DIR": str(tmp_path / "worker"),
            "PLAN_ID": "demo",
            "CLAUDE_BIN": str(fake_claude),
        }
        shell = await asyncio.create_subprocess_exec(
            "bash", "-euc", lines, cwd=repository, env=environment, start_new_session=True,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:

            async def done() -> bool:
                assert shell.returncode is None, await shell.stdout.read()  # type: ignore[union-attr]
                return await statuses(database, "demo") == {"A": "DONE"}

            await eventually(done, 60)
        finally:
            if shell.returncode is None:
                os.killpg(shell.pid, signal.SIGTERM)
            out, _ = await asyncio.wait_for(shell.communicate(), 20)
    assert b"Traceback" not in out
    assert secret.encode() not in out
    assert b"whl_" not in out
    assert "note.md" in git(repository, "ls-tree", "--name-only", "whilly/demo/A")
