"""A worker whose token is revoked in the middle of its work stops its agent, and others take the task."""

import asyncio
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.builders import a_plan, a_task, statuses
from tests.control_plane import eventually
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.set_repository import set_repository
from whilly.operations.shut_out import revoke_worker
from whilly.server.app import create_app
from whilly.server.serve import serving
from whilly.store.database import Database

AGENT = """\
#!/bin/sh
case "$1" in --version) echo "2.1.332 (Claude Code)"; exit ;; esac
echo $$ >{pid}.tmp; mv {pid}.tmp {pid}
exec sleep 300
"""


@pytest.mark.skipif(os.name != "posix", reason="the agent is a shell script")
async def test_the_agent_of_a_revoked_worker_is_dead_within_two_seconds(
    database: Database, repository: Path, tmp_path: Path
) -> None:
    await import_plan(database, a_plan(a_task("A")))
    await set_repository(database, "p", str(repository))
    pid, claude = tmp_path / "pid", tmp_path / "claude"
    claude.write_text(AGENT.format(pid=pid), encoding="utf-8")
    claude.chmod(0o755)
    issued = await issue_token(database, TokenKind.WORKER, worker="w-1", plan="p")
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "whilly.cli.worker_main", "--connect", address, "--token", issued.bearer,
            "--plan", "p",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "CLAUDE_BIN": str(claude), "WHILLY_DATA_DIR": str(tmp_path / "data")},
        )  # fmt: skip

        async def works() -> bool:
            return pid.exists()

        await eventually(works, 30)
        agent = psutil.Process(int(pid.read_text(encoding="utf-8")))
        began = time.monotonic()
        ended = await revoke_worker(database, "w-1")
        assert [key.task for key in ended.attempts] == ["A"]
        assert await statuses(database) == {"A": "PENDING"}

        async def dead() -> bool:
            return not agent.is_running() or agent.status() == psutil.STATUS_ZOMBIE

        await eventually(dead)
        seconds = time.monotonic() - began
        out, _ = await asyncio.wait_for(worker.communicate(), 30)
    assert seconds < 2, out
    assert worker.returncode == 2
    assert b"revoked" in out
    assert b"Traceback" not in out
