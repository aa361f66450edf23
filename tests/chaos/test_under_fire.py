"""Two thousand tasks while workers, servers and Postgres are killed and stopped: nothing lost, nothing doubled."""

import asyncio
import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from tests.builders import a_plan, a_task
from tests.chaos.worker_program import work
from whilly.client.connect import over_network
from whilly.core.money import from_usd
from whilly.core.plan import Plan
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.read_events import end_of_log, events_after, verify_log
from whilly.operations.sequence_events import sequence_events
from whilly.operations.steer_task import retry_task
from whilly.store import embedded, schema
from whilly.store.database import Database

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SCALE = float(os.environ.get("WHILLY_CHAOS_SCALE", "1"))
SEED = int(os.environ.get("WHILLY_CHAOS_SEED") or time.time_ns() % 1_000_000)
TASKS, WORKERS, WIDTH = int(2_000 * SCALE), 8, 100
KILLS, PAUSES, SERVER_KILLS, DATABASE_KILLS = int(200 * SCALE), int(40 * SCALE), 2, 1
LEASE = 1.0
PLAN = "fire"
PATIENCE = 240 * max(SCALE, 1)

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.chaos.worker_program"])


@dataclass
class Done:
    """What was done to the system."""

    kills: int = 0
    pauses: int = 0
    server_kills: int = 0
    database_kills: int = 0
    retries: int = 0
    snapshots: int = 0
    broken_budgets: list[Any] = field(default_factory=list)


@pytest.fixture
def running() -> Iterator[tuple[embedded.Running, Path]]:
    """A durable server of this test's own."""
    folder = Path(tempfile.mkdtemp(prefix="whilly-chaos-"))
    with embedded.start(folder) as started:
        yield started, folder
    shutil.rmtree(folder, ignore_errors=True)


def the_plan() -> Plan:
    """Layers of WIDTH tasks; each needs two of the layer above, some share files, and all share a budget."""
    tasks = []
    for number in range(TASKS):
        above = number - WIDTH
        needs = () if above < 0 else tuple({f"T{above}", f"T{max(above - 1, 0)}"})
        files = (f"shared/{number % 7}.py",) if number % 5 == 0 else ()
        tasks.append(a_task(f"T{number}", needs, key_files=files))
    return a_plan(*tasks, plan=PLAN, budget=from_usd(1000 * max(SCALE, 1)))


class Servers:
    """Control planes on one port each; a killed one is started again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.ports = [_free_port() for _ in range(2)]
        self._processes = [self._start(port) for port in self.ports]

    def addresses(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def kill_one(self, place: int) -> None:
        """SIGKILL, and a new one in its place."""
        self._processes[place].kill()
        self._processes[place].wait()
        self._processes[place] = self._start(self.ports[place])

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, port: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.chaos.server_program", self._url, str(port), str(LEASE)]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)


class Workers:
    """Eight workers that never stop coming back."""

    def __init__(self, addresses: list[str], tokens: list[str], chance: random.Random) -> None:
        self._addresses, self._tokens, self._chance = addresses, tokens, chance
        self._stopped: dict[int, float] = {}
        self._processes: list[BaseProcess] = [self._start(place) for place in range(WORKERS)]

    def kill_one(self) -> bool:
        place = self._chance.randrange(WORKERS)
        if place in self._stopped:
            return False
        self._processes[place].kill()
        self._processes[place].join()
        self._processes[place] = self._start(place)
        return True

    def stop_one(self, seconds: float) -> bool:
        place = self._chance.randrange(WORKERS)
        pid = self._processes[place].pid
        if place in self._stopped or pid is None:
            return False
        os.kill(pid, signal.SIGSTOP)
        self._stopped[place] = time.monotonic() + seconds
        return True

    def wake_those_due(self, *, all_of_them: bool = False) -> None:
        for place, until in list(self._stopped.items()):
            pid = self._processes[place].pid
            if pid is not None and (all_of_them or time.monotonic() > until):
                os.kill(pid, signal.SIGCONT)
                del self._stopped[place]

    def close(self) -> None:
        self.wake_those_due(all_of_them=True)
        for process in self._processes:
            process.kill()
            process.join()

    def _start(self, place: int) -> BaseProcess:
        address = self._addresses[place % len(self._addresses)]
        process = _forks.Process(
            target=work, args=(address, self._tokens[place], PLAN, self._chance.randrange(2**31)), daemon=True
        )
        process.start()
        return process


async def test_nothing_is_lost_and_nothing_is_done_twice(running: tuple[embedded.Running, Path]) -> None:
    started, folder = running
    chance = random.Random(SEED)
    await schema.upgrade(started.url)
    database = await Database.open(started.url)
    await import_plan(database, the_plan())
    tokens = [
        (await issue_token(database, TokenKind.WORKER, worker=f"w{place}", plan=PLAN)).bearer
        for place in range(WORKERS)
    ]
    operator = (await issue_token(database, TokenKind.OPERATOR, label="watcher")).bearer
    done, began = Done(), time.monotonic()
    servers = Servers(started.url)
    workers = Workers(servers.addresses(), tokens, chance)
    heard: dict[int, str] = {}
    listening = asyncio.create_task(_listen(servers.addresses()[0], operator, heard))
    try:
        await _fire(database, folder, servers, workers, chance, done)
        seconds = time.monotonic() - began
        while await sequence_events(database):
            pass
        last = await end_of_log(database)
        async with asyncio.timeout(60):
            while max(heard, default=0) < last:  # noqa: ASYNC110 - the listener is told by the server, not by us
                await asyncio.sleep(0.05)
    finally:
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening
        workers.close()
        servers.close()
    await _check(database, done, heard)
    print(  # noqa: T201 - the figures of this run, for whoever reads the output of CI
        f"\nseed {SEED}: {TASKS} tasks in {seconds:.0f} s; workers killed {done.kills}, stopped {done.pauses}; servers "
        f"killed {done.server_kills}; Postgres killed {done.database_kills}; tasks retried by hand {done.retries}; "
        f"{len(heard)} events heard in order; 0 lost, 0 doubled, budget held in {done.snapshots} snapshots"
    )
    await database.close()


async def _fire(
    database: Database, folder: Path, servers: Servers, workers: Workers, chance: random.Random, done: Done
) -> None:
    """Kill and stop things, evenly over the run, until all tasks are DONE."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, f"seed {SEED}: not finished; {done}"
        try:
            finished = await _look(database, done)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            await asyncio.sleep(0.05)
            continue
        if finished == TASKS:
            return
        share = finished / TASKS
        workers.wake_those_due()
        if done.kills < KILLS * share + 8:
            done.kills += workers.kill_one()
        if done.pauses < PAUSES * share + 1:
            done.pauses += workers.stop_one(LEASE * chance.uniform(0.5, 1.8))
        if share > 0.25 * (done.server_kills + 1) and done.server_kills < SERVER_KILLS:
            servers.kill_one(done.server_kills)
            done.server_kills += 1
        if share > 0.6 and done.database_kills < DATABASE_KILLS:
            _kill_postgres(folder)
            done.database_kills += 1
        await asyncio.sleep(0.02)


async def _look(database: Database, done: Done) -> int:
    """How many tasks are DONE. Sends those that failed back to work, as a person would, and watches the money."""
    async with database.connection() as connection:
        money = await connection.fetchrow("select * from plans where id = $1", PLAN)
        rows = await connection.fetch("select status, count(*) from tasks where plan_id = $1 group by status", PLAN)
        failed = await connection.fetch("select id from tasks where plan_id = $1 and status = 'FAILED'", PLAN)
    done.snapshots += 1
    if money["spent_micros"] + money["reserved_micros"] > money["budget_micros"]:
        done.broken_budgets.append(dict(money))
    for row in failed:
        await retry_task(database, PLAN, row["id"], "chaos")
        done.retries += 1
    return int({row["status"]: row["count"] for row in rows}.get("DONE", 0))


def _kill_postgres(folder: Path) -> None:
    """SIGKILL to the postmaster of this test; its guard starts it again."""
    (pid_file,) = folder.rglob("postmaster.pid")
    os.kill(int(pid_file.read_text(encoding="utf-8").split()[0]), signal.SIGKILL)


async def _listen(address: str, token: str, heard: dict[int, str]) -> None:
    """Follow the stream of events, and come back with the last position whenever it breaks."""
    while True:
        with contextlib.suppress(httpx2.HTTPError, OSError, StreamBroke):
            async for position, kind in _frames(address, token, max(heard, default=0)):
                assert position not in heard, "an event came twice"
                assert position == max(heard, default=0) + 1, "an event was passed over"
                heard[position] = kind
        await asyncio.sleep(0.1)


class StreamBroke(Exception):
    """The stream ended, or told that it cannot go on."""


async def _frames(address: str, token: str, after: int) -> AsyncIterator[tuple[int, str]]:
    headers = {"Last-Event-ID": str(after)}
    async with over_network(address, token) as http, http.stream("GET", "/events/stream", headers=headers) as response:
        if response.status_code != 200:
            raise StreamBroke(response.status_code)
        position, kind = 0, ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                position = int(value)
            elif not line and kind:
                if kind in ("error", "reset", "replay_truncated"):
                    raise StreamBroke(kind)
                yield position, kind
                kind = ""


async def _check(database: Database, done: Done, heard: dict[int, str]) -> None:
    assert done.broken_budgets == []
    assert done.kills >= KILLS
    assert done.pauses >= PAUSES
    assert (done.server_kills, done.database_kills) == (SERVER_KILLS, DATABASE_KILLS)
    for truth, query in TRUTHS.items():
        async with database.connection() as connection:
            broken = await connection.fetch(query, PLAN)
        assert not broken, f"seed {SEED}: {truth}: {[dict(row) for row in broken[:5]]}"
    assert await verify_log(database) is None
    position = 0
    stored: dict[int, str] = {}
    while page := await events_after(database, position, None, 1_000):
        stored |= {event.position: event.type for event in page}
        position = page[-1].position
    assert heard == stored
    assert list(stored) == list(range(1, len(stored) + 1))


TRUTHS = {
    "every task is DONE": "select id, status from tasks where plan_id = $1 and status <> 'DONE'",
    "each task was completed once": """
        select task_id, count(*) from events where plan_id = $1 and type = 'COMPLETE' group by task_id
        having count(*) <> 1""",
    "each claim has one end": """
        select task_id, count(*) filter (where type = 'CLAIM') as claims,
            count(*) filter (where type in ('RELEASE', 'COMPLETE', 'FAIL')) as ends
        from events where plan_id = $1 group by task_id
        having count(*) filter (where type = 'CLAIM') <> count(*) filter (where type in ('RELEASE', 'COMPLETE', 'FAIL'))
        """,
    "each claim is an attempt that ended": """
        select t.id from tasks t where t.plan_id = $1 and t.epoch <> (
            select count(*) from attempts a where a.plan_id = t.plan_id and a.task_id = t.id and a.ended_at is not null
        )""",
    "one accepted attempt each": """
        select task_id from attempts where plan_id = $1 and verdict = 'DONE' group by task_id having count(*) <> 1""",
    "no task started before its prerequisites were DONE": """
        select e.task_id from events e
        join dependencies d on d.plan_id = e.plan_id and d.task_id = e.task_id
        join events c on c.plan_id = d.plan_id and c.task_id = d.needs and c.type = 'COMPLETE'
        where e.plan_id = $1 and e.type = 'CLAIM' and e.id < c.id""",
    "nothing is held or reserved": """
        select id from plans p where id = $1 and (
            reserved_micros <> 0 or exists (select from held_files where plan_id = p.id)
        )""",
    "what was spent is what the attempts were charged": """
        select id from plans p where id = $1 and spent_micros <> (
            select sum(counted_micros) from attempts a where a.plan_id = p.id
        )""",
    "every event got its position": "select event_id from events_pending where $1 <> ''",
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
