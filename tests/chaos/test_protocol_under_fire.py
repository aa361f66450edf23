"""Two thousand tasks while workers, servers and Postgres are killed and stopped: nothing lost, nothing doubled."""

import asyncio
import json
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_plan, a_task
from tests.chaos import protocol_worker, server
from tests.chaos.books import check_books
from tests.chaos.crew import Crew, free_ports
from tests.chaos.fire import POCKET_MONEY, SCALE, SEED, Amount, Burnt, Fire, shown
from tests.chaos.listener import Listener
from whilly.core.plan import Plan
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.read_events import end_of_log
from whilly.store import embedded, schema
from whilly.store.database import Database

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300 * max(SCALE, 1))]

TASKS, WORKERS, SERVERS, WIDTH = int(2_000 * SCALE), 8, 2, 100
AMOUNT = Amount(
    kills=int(200 * SCALE),
    stops=int(40 * SCALE),
    server_kills=max(round(2 * SCALE), 1),
    database_kills=max(round(2 * SCALE), 1),
    stop_seconds=(server.LEASE * 2, server.LEASE * 3),
    patience=240 * max(SCALE, 1),
)


@pytest.fixture
def cluster() -> Iterator[tuple[str, Path]]:
    """The URL of a durable server of this test's own, and its folder; in /tmp, for a socket needs a short path."""
    folder = Path(tempfile.mkdtemp(prefix="whilly-chaos-"))
    try:
        with embedded.start(folder) as running:
            yield running.url, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def the_plan() -> Plan:
    """Layers of WIDTH tasks; each needs two of the layer above, some share files, and all share a small budget."""
    tasks = []
    for number in range(TASKS):
        above = number - WIDTH
        needs = () if above < 0 else tuple({f"T{above}", f"T{max(above - 1, 0)}"})
        files = (f"shared/{number % 7}.py",) if number % 5 == 0 else ()
        tasks.append(a_task(f"T{number}", needs, key_files=files))
    return a_plan(*tasks, plan="fire", budget=POCKET_MONEY)


async def test_nothing_is_lost_and_nothing_is_done_twice(cluster: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = cluster
    print(f"\nWHILLY_CHAOS_SEED={SEED} WHILLY_CHAOS_SCALE={SCALE:g}", flush=True)  # noqa: T201 - repeats a failure
    await schema.upgrade(url)
    database, plan, chance = await Database.open(url), the_plan(), random.Random(SEED)
    await import_plan(database, plan)
    ports = free_ports(SERVERS)
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    servers = Crew(server.serve, [(url, port, server.LEASE, str(tmp_path / f"server-{port}.log")) for port in ports])
    workers = Crew(
        protocol_worker.work, [await place(database, plan, number, addresses, tmp_path) for number in range(WORKERS)]
    )
    token = (await issue_token(database, TokenKind.OPERATOR, label="listener")).bearer
    listeners = [Listener(addresses[0], token), Listener(addresses[1], token, chance)]
    fire = Fire(database, folder, plan, AMOUNT, chance)
    began = time.monotonic()
    try:
        async with following(listeners):
            await fire.burn(workers, servers, addresses)
            seconds = time.monotonic() - began
            await all_heard(database, listeners)
    finally:
        workers.close()
        servers.close()
    log = await check_books(database, plan)
    for listener in listeners:
        check_heard(listener, log)
    refused = await check_diaries(database, tmp_path)
    assert internal_errors(tmp_path) == []
    print(await summary(database, fire.burnt, seconds, refused, len(log), listeners))  # noqa: T201 - for who reads CI
    await database.close()


async def place(database: Database, plan: Plan, number: int, addresses: list[str], folder: Path) -> tuple[Any, ...]:
    """What a worker is started with."""
    token = await issue_token(database, TokenKind.WORKER, worker=f"w{number}", plan=plan.id)
    return addresses[number % len(addresses)], token.bearer, plan.id, str(folder / f"diary-{number}"), SEED + number


@asynccontextmanager
async def following(listeners: list[Listener]) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(listener.follow()) for listener in listeners]
        yield
        for task in tasks:
            task.cancel()


async def all_heard(database: Database, listeners: list[Listener]) -> None:
    """Wait until every event has a position and every listener has heard it."""
    async with asyncio.timeout(30), database.connection() as connection:
        while await connection.fetchval("select exists (select from events_pending)"):  # noqa: ASYNC110 - of others
            await asyncio.sleep(0.02)
        last = await end_of_log(database)
        while min(len(listener.heard) for listener in listeners) < last:  # noqa: ASYNC110 - servers tell them
            await asyncio.sleep(0.02)


def check_heard(listener: Listener, log: list[dict[str, Any]]) -> None:
    """What was heard is the log, event by event."""
    assert len(listener.heard) == len(log)
    for heard, stored in zip(listener.heard, log, strict=True):
        told = [heard[name] for name in ("event_id", "event_type", "plan_id", "task_id", "payload")]
        assert told == [stored[name] for name in ("position", "type", "plan_id", "task_id", "payload")]


async def check_diaries(database: Database, folder: Path) -> int:
    """What workers were told is what is stored; how many reports were refused because their attempt was over."""
    async with database.connection() as connection:
        rows = await connection.fetch("select task_id, epoch, outcome, verdict from attempts")
    attempts = {(row["task_id"], row["epoch"]): row for row in rows}
    refused = 0
    for diary in folder.glob("diary-*"):
        for line in diary.read_text(encoding="utf-8").splitlines():
            task, epoch, said = json.loads(line)
            attempt = attempts[task, epoch]
            if said == "refused":
                refused += 1
                assert attempt["outcome"] == "lost_worker", f"{task}/{epoch} was refused and is {dict(attempt)}"
            else:
                assert attempt["verdict"] == said, f"{task}/{epoch} was told {said!r} and is {dict(attempt)}"
    return refused


def internal_errors(folder: Path) -> list[str]:
    """What the servers did not expect. That Postgres is away is no surprise to them."""
    lines = (line for log in folder.glob("server-*.log") for line in log.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if "a request failed" in line or "never retrieved" in line]


async def summary(
    database: Database, burnt: Burnt, seconds: float, refused: int, events: int, listeners: list[Listener]
) -> str:
    waits = sorted(await seconds_until_given_up(database, burnt))
    p99 = waits[int(len(waits) * 0.99)] if waits else 0
    claims = "select extract(epoch from min(claimed_at) - $1)::float8 from attempts where claimed_at > $1"
    async with database.connection() as connection:
        counts = await connection.fetchrow(
            "select count(*), count(*) filter (where outcome = 'lost_worker') as lost from attempts"
        )
        first_claims = [await connection.fetchval(claims, at) for at in burnt.database_kills]
    return (
        f"chaos: {TASKS} tasks in {seconds:.1f} s ({counts['count']} attempts, {counts['lost']} lost with their "
        f"worker); 0 lost, 0 double; {refused} stale reports refused, 0 accepted; {burnt} (first claim after "
        f"{shown(first_claims)}); task of a killed worker given up after p99 {p99:.2f} s; budget never exceeded; "
        f"{events} events, chain verified, heard by {len(listeners)} listeners over "
        f"{sum(listener.connections for listener in listeners)} connections"
    )


async def seconds_until_given_up(database: Database, burnt: Burnt) -> list[float]:
    """From the kill of a worker that had a task until that attempt was over."""
    query = """select extract(epoch from ended_at - $2)::float8 from attempts
        where worker_id = $1 and claimed_at < $2 and ended_at > $2 and outcome = 'lost_worker'"""
    async with database.connection() as connection:
        found = [await connection.fetchval(query, f"w{place}", at) for place, at in burnt.kills]
    return [each for each in found if each is not None]
