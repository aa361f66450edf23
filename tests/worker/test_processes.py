"""Workers as processes of their own, with signals and a real network."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
import uvicorn

from tests.builders import a_plan, a_task
from tests.worker.control_room import WORKER, ControlRoom, control_room
from tests.worker.repository import Repository, new_repository
from tests.worker.test_endings import STUBBORN, dead
from tests.worker.until import until
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.sweep_leases import sweep_leases
from whilly.server.app import create_app
from whilly.server.engine import Timing
from whilly.store.database import Database

PROJECT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no supervisor on this platform")


@asynccontextmanager
async def worker_process(
    control_plane: str, folder: Path, script: str, token: str = "", **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.worker.worker_program",
        control_plane,
        str(folder),
        script,
        cwd=PROJECT,
        env={**os.environ, "TOKEN": token, **environment},
        start_new_session=True,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def submitted(database: Database, tmp_path: Path) -> Repository:
    repository = new_repository(tmp_path / "repository")
    async with control_room(database) as room:
        await room.submit(a_plan(a_task("T1")), repository.path)
    return repository


async def test_sigterm_leaves_no_agent_and_no_lease(database: Database, database_url: str, tmp_path: Path) -> None:
    await submitted(database, tmp_path)
    async with worker_process(database_url, tmp_path, STUBBORN.format(folder=tmp_path)) as process:
        pids = await pids_in(tmp_path)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await process.wait() == 0
        assert dead(*pids)
    async with database.connection() as connection:
        assert await connection.fetchval("select status from tasks") == "PENDING"


async def test_sigkill_leaves_no_agent(database: Database, database_url: str, tmp_path: Path) -> None:
    await submitted(database, tmp_path)
    async with worker_process(database_url, tmp_path, STUBBORN.format(folder=tmp_path)) as process:
        pids = await pids_in(tmp_path)
        process.kill()
        await process.wait()
        await until(lambda: dead(*pids), within=5)


async def test_the_next_worker_gives_up_the_lease_of_a_killed_one_at_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    repository = await submitted(database, tmp_path)
    async with worker_process(database_url, tmp_path, STUBBORN.format(folder=tmp_path)) as process:
        await pids_in(tmp_path)
        process.kill()
        await process.wait()
    async with worker_process(database_url, tmp_path, "true"), database.connection() as connection:
        first = "select outcome, reason, kept_ref from attempts where epoch = 1"
        ends = asyncio.get_running_loop().time() + 10
        while (attempt := await connection.fetchrow(first))["outcome"] is None:
            assert asyncio.get_running_loop().time() < ends, "the lease lasts for a minute"
            await asyncio.sleep(0.05)
    assert attempt["outcome"] == "released"
    assert "ended without a report" in attempt["reason"]
    assert repository.git("rev-parse", attempt["kept_ref"])
    async with database.connection() as connection:
        task = await connection.fetchrow("select attempts, epoch from tasks")
    assert task["attempts"] == task["epoch"] - 1, "the first attempt was not counted"


async def test_what_a_killed_worker_left_is_saved_by_the_next_one(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    repository = await submitted(database, tmp_path)
    async with worker_process(database_url, tmp_path, STUBBORN.format(folder=tmp_path)) as process:
        await pids_in(tmp_path)
        process.kill()
        await process.wait()
    async with worker_process(database_url, tmp_path, "true"):
        kept = "refs/whilly/p/T1/e1"
        await until(lambda: kept in repository.git("for-each-ref", "--format=%(refname)"))
        assert repository.file(kept, "T1.txt") == "precious"


async def test_a_worker_that_was_stopped_too_long_changes_nothing_when_it_goes_on(
    database: Database, tmp_path: Path
) -> None:
    repository = await submitted(database, tmp_path)
    begin = "echo $$ > {folder}/pid; touch {folder}/begun; echo {name} > T1.txt"
    script = f"{begin}; while [ ! -f {{folder}}/go ]; do sleep 0.05; done"
    async with served(database, lease=2) as (url, token, room):
        for name in ("zombie", "heir"):
            (tmp_path / name).mkdir()
        zombies = script.format(folder=tmp_path / "zombie", name="zombie")
        async with worker_process(url, tmp_path / "zombie", zombies, token) as zombie:
            await until((tmp_path / "zombie/begun").exists)
            zombie.send_signal(signal.SIGSTOP)
            await until(partial(sweep_leases, database))
            # Its supervisor saw to that, for the worker itself could not.
            assert dead((tmp_path / "zombie/pid").read_text(encoding="utf-8").strip())
            heirs = script.format(folder=tmp_path / "heir", name="heir")
            other = (await issue_token(database, TokenKind.WORKER, worker="heir")).bearer
            async with worker_process(url, tmp_path / "heir", heirs, other):
                await until((tmp_path / "heir/begun").exists)
                (tmp_path / "zombie/go").touch()
                zombie.send_signal(signal.SIGCONT)
                await until(lambda: not psutil.Process(zombie.pid).children(), "the zombie's agent is gone")
                (tmp_path / "heir/go").touch()
                await until(lambda: "whilly/p/T1" in repository.branches())
                await until(partial(has_status, room, "DONE"))
        assert repository.file("whilly/p/T1", "T1.txt") == "heir"
        assert (await room.told("T1")).count("COMPLETE") == 1
        assert [each["outcome"] for each in await room.attempts("T1")] == ["lost_worker", "completed"]


async def pids_in(folder: Path) -> list[str]:
    """Wait for what STUBBORN writes."""
    names = [folder / "agent", folder / "daemon"]
    await until(lambda: all(name.exists() and name.read_text(encoding="utf-8").strip() for name in names))
    return [name.read_text(encoding="utf-8").strip() for name in names]


async def has_status(room: ControlRoom, status: str) -> bool:
    return bool((await room.task("T1"))["status"] == status)


@asynccontextmanager
async def served(database: Database, lease: float) -> AsyncIterator[tuple[str, str, ControlRoom]]:
    """The control plane behind a real socket: its address and a worker's token."""
    app = create_app(database, timing=Timing(lease=lease))
    token = (await issue_token(database, TokenKind.WORKER, worker=WORKER)).bearer
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        serving = asyncio.create_task(server.serve([listening]))
        await until(lambda: server.started)
        async with control_room(database) as room:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", token, room
        server.should_exit = True
        server.force_exit = True
        await serving
