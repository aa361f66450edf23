"""What a worker costs its machine while it waits for work."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from tests.builders import a_plan
from tests.worker.until import until
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.server.app import create_app
from whilly.server.engine import Engine
from whilly.server.serve import serving
from whilly.store.database import Database

MOST_CPU_SECONDS = 0.5
MOST_MEMORY = 60 * 2**20


@pytest.mark.skipif(sys.platform == "win32", reason="memory is counted otherwise")
async def test_a_worker_is_light(database: Database, tmp_path: Path) -> None:
    await import_plan(database, a_plan(plan="empty"))
    await database.fetch("delete_tasks", "empty", ["T1"])
    app = create_app(database)
    engine: Engine = app.state.engine
    async with app.router.lifespan_context(app), serving(app) as address:
        token = await issue_token(database, TokenKind.WORKER, worker="w1")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "whilly.cli.worker_main", "--connect", address, "--plan", "empty",
            "--agent", "scripted", "--token", token.bearer,
            env={**os.environ, "WHILLY_DATA_DIR": str(tmp_path)},
        )  # fmt: skip
        try:
            await until(lambda: len(engine.wakeups), "its claim waits")
            used = psutil.Process(process.pid)
            times, memory = used.cpu_times(), used.memory_info().rss
        finally:
            process.terminate()
            await process.wait()
    seconds = times.user + times.system
    print(f"{seconds:.2f} s of CPU to the first claim, {memory / 2**20:.0f} MB")  # noqa: T201 - for the log of CI
    assert seconds < MOST_CPU_SECONDS
    assert memory < MOST_MEMORY
