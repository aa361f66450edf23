"""Workers that are killed while they fetch, push or send; and the next one, which has to end it well."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_plan, a_task
from tests.control_plane import Server, eventually, running_server
from tests.worker.repository import Repository
from tests.workspace.forge import Forge, forge
from whilly.core.plan import Plan, RepoTarget
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.server.engine import Timing
from whilly.server.serve import serving
from whilly.store.database import Database

SCRIPT = 'echo "$TASK by $$" > "$TASK.txt"'


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    """Everybody may do everything: these workers have no token."""
    with forge(tmp_path / "forge") as served:
        served.add()
        served.readers = set()
        served.writers = {""}
        yield served


def plan(hub: Forge, *tasks: str) -> Plan:
    target = RepoTarget("shop", "git", "acme/shop", clone_url=hub.address())
    return a_plan(*(a_task(task, repo_target_id="shop") for task in tasks), repo_targets=(target,))


class Machines:
    """Worker processes, each with folders and an identity of its own."""

    def __init__(self, database: Database, address: str, tmp_path: Path) -> None:
        self.database = database
        self.address = address
        self.tmp_path = tmp_path

    async def start(self, name: str) -> asyncio.subprocess.Process:
        token = await issue_token(self.database, TokenKind.WORKER, worker=name, plan=None, label=name, lifetime=None)
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.worker.worker_program", self.address, str(self.tmp_path / name), SCRIPT,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TOKEN": token.bearer, "PYTHONPATH": str(Path.cwd())},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip


async def all_done(server: Server) -> bool:
    async with server.database.connection() as connection:
        return bool(await connection.fetchval("select bool_and(status = 'DONE') from tasks"))


async def ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 30)


async def test_a_worker_killed_between_push_and_report_is_followed_by_one_that_ends_it(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    """The first result is on the branch already, and nobody has heard of it."""
    hub.hook(f"test -e {tmp_path}/pushed || {{ touch {tmp_path}/pushed; exec sleep 1; }}")
    async with running_server(database, Timing(lease=3)) as server, serving(server.app) as address:
        machines = Machines(database, address, tmp_path)
        await import_plan(database, plan(hub, "A"))
        first = await machines.start("one")

        async def pushing() -> bool:
            return (tmp_path / "pushed").exists()

        await eventually(pushing, 30)
        first.kill()
        await first.wait()

        async def arrived() -> bool:
            return "whilly/p/A" in hub.repository().branches()

        await eventually(arrived, 30)
        before = hub.repository().git("rev-parse", "whilly/p/A")
        second = await machines.start("two")
        await eventually(lambda: all_done(server), 60)
        await ended(second)

    async with database.connection() as connection:
        row = await connection.fetchrow("select * from tasks")
    assert row["result_branch"] == "whilly/p/A"
    assert hub.repository().git("rev-parse", "whilly/p/A") == row["result_commit"] != before


async def test_a_worker_told_to_stop_while_it_pushes_is_gone_in_time(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    hub.hook(f"touch {tmp_path}/pushed; exec sleep 40")
    async with running_server(database, Timing(lease=60)) as server, serving(server.app) as address:
        machines = Machines(database, address, tmp_path)
        await import_plan(database, plan(hub, "A"))
        worker = await machines.start("one")

        async def pushing() -> bool:
            return (tmp_path / "pushed").exists()

        await eventually(pushing, 30)
        began = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        await asyncio.wait_for(worker.communicate(), 20)
        seconds = time.monotonic() - began

    async with database.connection() as connection:
        task = await connection.fetchrow("select * from tasks")
        attempt = await connection.fetchrow("select * from attempts")
    assert seconds < 12
    assert (task["status"], task["attempts"], attempt["outcome"]) == ("PENDING", 0, "released")


async def test_two_machines_at_once_with_kills_lose_and_double_nothing(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    tasks = [f"T{number}" for number in range(12)]
    async with running_server(database, Timing(lease=3)) as server, serving(server.app) as address:
        machines = Machines(database, address, tmp_path)
        await import_plan(database, plan(hub, *tasks))
        steady = await machines.start("steady")
        for round_ in range(4):
            victim = await machines.start("victim")
            await asyncio.wait({asyncio.ensure_future(victim.wait())}, timeout=1.0 + 0.4 * round_)
            if victim.returncode is None:
                victim.kill()
            await victim.wait()
        await eventually(lambda: all_done(server), 90)
        await ended(steady)

    async with database.connection() as connection:
        rows = await connection.fetch("select id, result_commit, result_branch from tasks")
    bare: Repository = hub.repository()
    for row in rows:
        assert row["result_branch"] == f"whilly/p/{row['id']}"
        assert bare.git("rev-parse", row["result_branch"]) == row["result_commit"]
    assert bare.git("fsck", "--no-dangling") == ""
