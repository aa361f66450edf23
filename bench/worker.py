"""What a worker process needs: memory, and CPU until it has its first task."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import psutil

from bench.commands import WORKER
from bench.control_plane import control_plane
from bench.http import worker_tokens
from bench.plans import layered
from bench.postgres import folder, postgres
from bench.processes import cpu_of
from bench.repository import make_repository
from bench.series import Series
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.operations.import_plan import import_plan
from whilly.operations.set_repository import set_repository
from whilly.store.database import Database

MEMORY = Bar(at_most=60)
CPU = Bar(at_most=0.5)
RIVAL = "import httpx2, pydantic"
BARE = "import httpx2, pydantic, sys; sys.stdin.read()"


async def measure(sizes: Sizes) -> Table:
    """Start workers that find nothing to do, look at them, then give them a task."""
    waiting, working, cpus, bare_memory, bare_cpu = [], [], [], [], []
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        repository = make_repository(place)
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("worker"))
        running = await held.enter_async_context(control_plane(database.url, place))
        for number, token in enumerate(await worker_tokens(database, sizes.workers)):
            plan = f"plan-{number}"
            await import_plan(database, layered(plan, 1))
            await set_repository(database, plan, str(repository))
            worker = _start(place, number, running.port, token, plan)
            try:
                cpus.append(await _cpu_at_claim(database, plan, worker))
                working.append(await _most_memory(worker))
            finally:
                _end(worker)
            memory, cpu = _bare()
            bare_memory.append(memory)
            bare_cpu.append(cpu)
            worker = _start(place, number, running.port, token, plan)
            try:
                waiting.append(await _memory_at_rest(worker))
            finally:
                _end(worker)
    return Table(
        "worker: one process of `whilly-worker`",
        (
            Figure("CPU until the first claim, s", Series(tuple(cpus)), CPU, RIVAL, Series(tuple(bare_cpu))),
            Figure("memory while it waits, MiB", Series(tuple(waiting)), MEMORY, RIVAL, Series(tuple(bare_memory))),
            Figure("most memory during a task, MiB", Series(tuple(working)), MEMORY),
        ),
        (
            f"{sizes.workers} workers with the scripted agent. CPU from the start of the process to the moment when "
            "the database has its CLAIM; memory is what the process holds (RSS), without that of agents. The contender "
            "is a Python that imports the two libraries the worker stands on.",
        ),
    )


def _start(place: Path, number: int, port: int, token: str, plan: str) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WHILLY_", "PG"))}
    environment["WHILLY_DATA_DIR"] = str(place / f"worker-{number}")
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    words = ("--connect", f"http://127.0.0.1:{port}", "--token", token, "--plan", plan, "--agent", "scripted")
    with (place / "worker.log").open("ab") as log:
        return subprocess.Popen((*WORKER, *words), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _end(worker: "subprocess.Popen[bytes]") -> None:
    worker.send_signal(signal.SIGTERM)
    try:
        worker.wait(15)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


async def _cpu_at_claim(database: Database, plan: str, worker: "subprocess.Popen[bytes]") -> float:
    await _until(database, worker, "select exists (select from events where plan_id = $1 and type = 'CLAIM')", plan)
    return cpu_of(worker.pid)


async def _most_memory(worker: "subprocess.Popen[bytes]") -> float:
    """MiB at most, by looking often, for a second from the claim on: a scripted task lasts a part of that."""
    most = 0.0
    for _ in range(100):
        most = max(most, _memory(worker.pid))
        await asyncio.sleep(0.01)
    return most


async def _memory_at_rest(worker: "subprocess.Popen[bytes]") -> float:
    """MiB as soon as it has stopped using CPU."""
    used = -1.0
    while (now := cpu_of(worker.pid)) > used + 0.005 or now == 0:
        if worker.poll() is not None:
            raise RuntimeError("the worker ended")
        used = now
        await asyncio.sleep(0.5)
    return _memory(worker.pid)


async def _until(database: Database, worker: "subprocess.Popen[bytes]", true: str, plan: str) -> None:
    deadline = time.monotonic() + 30
    async with database.connection() as connection:
        while not await connection.fetchval(true, plan):
            if worker.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the worker claimed nothing; its exit code is {worker.poll()}")
            await asyncio.sleep(0.005)


def _memory(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def _bare() -> tuple[float, float]:
    with subprocess.Popen((sys.executable, "-c", BARE), stdin=subprocess.PIPE) as process:
        used = -1.0
        while (now := cpu_of(process.pid)) > used + 0.005 or now < 0.05:
            used = now
            time.sleep(0.3)
        memory = _memory(process.pid)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    return memory, used
