"""What an agent, which may read the command line of its worker, finds there."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import a_plan, a_task, statuses
from tests.server_process import server_process
from whilly.core.plan import Check
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.mint_token import mint_token
from whilly.operations.set_repository import set_repository
from whilly.store.database import Database

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

LOOKS_AROUND = "! cat /proc/[0-9]*/cmdline /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep -a {}"


@pytest.mark.parametrize("way", ["token", "connect"])
async def test_no_token_is_on_the_command_line_while_agents_run(
    database: Database, database_url: str, repository: Path, tmp_path: Path, way: str
) -> None:
    own = (await issue_token(database, TokenKind.WORKER, worker="w-1")).bearer
    bootstrap = (await mint_token(database, TokenKind.BOOTSTRAP, "ann", uses=5)).bearer
    secret = own if way == "token" else bootstrap
    # Written so that it does not find itself.
    look = LOOKS_AROUND.format(f"'[w]{secret[1:30]}'")
    await import_plan(database, a_plan(a_task("A", checks=(Check("look", look),))))
    await set_repository(database, "p", str(repository))
    async with server_process(WHILLY_DATABASE_URL=database_url) as server:
        program = ["-m", "whilly.cli.worker_main", "--connect", server.address, "--token", secret]
        if way == "connect":
            program = ["-m", "whilly.cli.main", "worker", "connect", server.address, "--bootstrap-token", secret]
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, *program, "--plan", "p", "--agent", "scripted", "--once"],
            env={**os.environ, "WHILLY_DATA_DIR": str(tmp_path / "data")},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert await statuses(database) == {"A": "DONE"}, done.stdout + done.stderr
