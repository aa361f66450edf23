"""whilly-orchestrator, the program whose tasks Whilly takes over: its own release, server, schema and protocol.

It needs Python 3.12 and libraries of its own, so it lives in an environment of its own in the user's cache, which is
made the first time; WHILLY_BENCH_ORCHESTRATOR names the interpreter of another one.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import platformdirs

from bench.caller import Caller
from bench.control_plane import ServerProcess, free_port, server
from bench.postgres import Postgres

VERSION = "4.7.0"
NAME = f"whilly-orchestrator {VERSION}"
ADMITS = "bench-bootstrap-secret"

MIGRATE = """
import pathlib, whilly
from alembic import command
from alembic.config import Config
config = Config()
config.set_main_option("script_location", str(pathlib.Path(whilly.__file__).parent / "adapters/db/migrations"))
command.upgrade(config, "head")
"""
"""Its release has migrations and no command that runs them."""

COPIES = """
insert into tasks
select (jsonb_populate_record(t, jsonb_build_object('id', t.id || '-' || n))).*
from tasks t, generate_series(2, $2::int) n
where t.plan_id = $1
"""

PAST = """
insert into events (task_id, plan_id, event_type, payload)
select t.id, t.plan_id, (array['CLAIM', 'START', 'COMPLETE'])[1 + n % 3], jsonb_build_object('version', n % 3 + 1)
from generate_series(1, $2::int / 1000) n, (select * from tasks where plan_id = $1 limit 1000) t
"""

SECONDS = 10.0
"""Of one round at most; with 100,000 pending tasks each of its claims takes seconds."""


class Orchestrator:
    """Its running server, with workers."""

    def __init__(self, python: Path, url: str, running: ServerProcess, workers: dict[str, str]) -> None:
        """`workers`: their tokens, by their ids."""
        self._python, self._url = python, url
        self.process, self.workers = running, workers

    async def add_plan(self, tasks: int, place: Path) -> str:
        """A plan with so many pending tasks without dependencies, copies of one that is imported; the plan's id."""
        plan = f"plan-{uuid.uuid4().hex[:8]}"
        file = place / f"{plan}.json"
        task = {
            "id": plan,
            "status": "pending",
            "priority": "medium",
            "description": "Write the function number 0 of the library, with its tests and its documentation.",
            "acceptance_criteria": ["The function exists and is exported.", "Its tests pass."],
            "test_steps": ["python -m pytest -q"],
            "dependencies": [],
            "key_files": [],
        }
        file.write_text(json.dumps({"plan_id": plan, "project": "Bench", "tasks": [task]}), encoding="utf-8")
        await asyncio.to_thread(_run, self._python, self._url, ("-m", "whilly", "plan", "import", str(file)))
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(COPIES, plan, tasks)
            await connection.execute("vacuum analyze tasks")
        finally:
            await connection.close()
        return plan

    async def grow_old(self, events: int, place: Path) -> None:
        """Give it a log with so many events, to the next 1,000, of tasks of another plan."""
        plan = await self.add_plan(1_000, place)
        connection = await asyncpg.connect(self._url)
        try:
            # Its trigger would notify of each.
            await connection.execute("set session_replication_role = replica")
            await connection.execute(PAST, plan, -(-events // 1_000) * 1_000)
            await connection.execute("vacuum analyze events")
        finally:
            await connection.close()

    async def keep_alive(self, hands: list[Caller]) -> None:
        """A sign of life from each worker: those that gave none for two minutes lose what they claim."""
        for worker, caller in zip(self.workers, hands, strict=True):
            await caller.told(f"/workers/{worker}/heartbeat", {"worker_id": worker})

    async def work_off(self, hands: list[Caller], plan: str, tasks: int) -> int:
        """Claim and complete so many tasks, all workers at once, or as many as SECONDS are enough for; how many.

        `hands`: a connection for each worker, in their order.
        """
        left, until = [tasks], time.monotonic() + SECONDS
        await asyncio.gather(*(_work(*hand, plan, left, until) for hand in zip(self.workers, hands, strict=True)))
        return tasks - left[0]


async def _work(worker: str, caller: Caller, plan: str, left: list[int], until: float) -> None:
    while left[0] > 0 and time.monotonic() < until:
        left[0] -= 1
        task: dict[str, Any] | None = None
        while task is None:
            claimed = await caller.told("/tasks/claim", {"worker_id": worker, "plan_id": plan})
            task = claimed and claimed["task"]
        await caller.told(f"/tasks/{task['id']}/complete", {"worker_id": worker, "version": task["version"]})


@asynccontextmanager
async def orchestrator(python: Path, postgres: Postgres, workers: int, place: Path) -> AsyncIterator[Orchestrator]:
    """Migrate a database of its own, start its server, register workers."""
    url = await postgres.create("orchestrator")
    await asyncio.to_thread(_run, python, url, ("-c", MIGRATE))
    port = free_port()
    command = (
        str(python),
        "-P",
        "-m",
        "whilly",
        "server",
        "--port",
        str(port),
        "--no-access-log",
        "--log-level",
        "warning",
    )
    async with server(command, _environment(url), port, place / "orchestrator.log") as running:
        async with Caller.to(port, ADMITS) as admitted:
            given = [await admitted.told("/workers/register", {"hostname": f"bench-{n}"}) for n in range(workers)]
        yield Orchestrator(python, url, running, {each["worker_id"]: each["token"] for each in given})


def interpreter(*, may_install: bool) -> Path | str:
    """The Python that has it, or a sentence that says why there is none."""
    if named := os.environ.get("WHILLY_BENCH_ORCHESTRATOR"):
        return Path(named)
    home = Path(platformdirs.user_cache_dir("whilly")) / "bench" / NAME.replace(" ", "-")
    python, stamp = home / "bin" / "python", home / "installed"
    if stamp.exists():
        return python
    if not may_install:
        return f"{NAME} did not take part: it is installed by a full run only"
    base = _python_3_12()
    if base is None:
        return f"{NAME} did not take part: it needs Python 3.12, and there is none here"
    try:
        shutil.rmtree(home, ignore_errors=True)
        print(f"installing {NAME} into {home} (once)", file=sys.stderr, flush=True)
        subprocess.run((base, "-m", "venv", str(home)), check=True, capture_output=True)
        install = (str(python), "-m", "pip", "install", "--quiet", f"whilly-orchestrator[all]=={VERSION}")
        subprocess.run(install, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        return f"{NAME} did not take part: it could not be installed ({failure})"
    stamp.touch()
    return python


def _python_3_12() -> str | None:
    managed = (Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions").glob("3.12.*/bin/python3.12")
    for candidate in (sys.executable, "python3.12", *map(str, managed)):
        told = ("-c", "import sys, venv; sys.exit(sys.version_info[:2] != (3, 12))")
        try:
            if subprocess.run((candidate, *told), capture_output=True).returncode == 0:
                return candidate
        except OSError:
            continue
    return None


def _run(python: Path, url: str, words: tuple[str, ...]) -> None:
    done = subprocess.run((str(python), "-P", *words), env=_environment(url), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{NAME} failed: {done.stdout[-1_000:]}{done.stderr[-2_000:]}")


def _environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHILLY_", "PG", "PYTHON"))}
    return {**kept, "WHILLY_DATABASE_URL": url, "WHILLY_WORKER_BOOTSTRAP_TOKEN": ADMITS}
