"""Two thousand tasks while workers, servers and Postgres are killed and stopped: nothing lost, nothing doubled."""

import asyncio
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_plan, a_task
from tests.chaos import protocol_worker, server
from tests.chaos.books import check_books
from tests.chaos.crew import Crew, free_ports
from tests.chaos.dawdlers import dawdle, out_of_order
from tests.chaos.fire import POCKET_MONEY, SCALE, SEED, Amount, Burnt, Fire, shown
from tests.chaos.listener import Listener
from tests.chaos.network import Fate, Network
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
    server_kills=max(round(4 * SCALE), 2),
    database_kills=max(round(SCALE), 2),
    stop_seconds=(server.LEASE * 2, server.LEASE * 3),
    cut_seconds=min(max(6 * SCALE, 3), 30),
    patience=240 * max(SCALE, 1),
)

DAWDLERS = 3
REPORT = os.environ.get("WHILLY_CHAOS_REPORT", "")
BEGIN, END = "<!-- figures -->", "<!-- end of the figures -->"


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
    network = Network(random.Random(chance.random()))
    token = (await issue_token(database, TokenKind.OPERATOR, label="listener")).bearer
    began = time.monotonic()
    async with AsyncExitStack() as held:
        held.callback(servers.close)
        ways = [await held.enter_async_context(network.way(addresses[n % SERVERS])) for n in range(WORKERS)]
        places = [await place(database, plan, number, ways, tmp_path) for number in range(WORKERS)]
        workers = Crew(protocol_worker.work, places)
        held.callback(workers.close)
        listeners = [
            Listener(addresses[0], token),
            Listener(addresses[1], token, chance),
            *[Listener(await held.enter_async_context(network.way(each)), token) for each in addresses],
        ]
        fire = Fire(database, folder, plan, AMOUNT, chance, lambda: network.down(ways[0]))
        async with following(listeners):
            async with dawdling(database, chance):
                await fire.burn(workers, servers, addresses)
            seconds = time.monotonic() - began
            await all_heard(database, listeners)
    log = await check_books(database, plan)
    for listener in listeners:
        check_heard(listener, log)
    refused = await check_diaries(database, tmp_path)
    assert internal_errors(tmp_path) == []
    late = await out_of_order(database)
    assert late > 0, "no event committed after a later one: this run proves nothing about that"
    found = await findings(database, fire.burnt, network, seconds, refused, len(log), late, listeners)
    print("\n".join(f"{what}: {value}" for what, value in found.items()))  # noqa: T201 - for who reads CI
    if REPORT:
        write_report(Path(REPORT), found)
    await database.close()


async def place(database: Database, plan: Plan, number: int, addresses: list[str], folder: Path) -> tuple[Any, ...]:
    """What a worker is started with."""
    token = await issue_token(database, TokenKind.WORKER, worker=f"w{number}", plan=plan.id)
    return addresses[number % len(addresses)], token.bearer, plan.id, str(folder / f"diary-{number}"), SEED + number


@asynccontextmanager
async def dawdling(database: Database, chance: random.Random) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(dawdle(database, random.Random(chance.random()))) for _ in range(DAWDLERS)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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


async def findings(
    database: Database,
    burnt: Burnt,
    network: Network,
    seconds: float,
    refused: int,
    events: int,
    late: int,
    listeners: list[Listener],
) -> dict[str, str]:
    """What happened, for the report."""
    waits = sorted(await seconds_until_given_up(database, burnt))
    claims = "select extract(epoch from min(claimed_at) - $1)::float8 from attempts where claimed_at > $1"
    async with database.connection() as connection:
        counts = await connection.fetchrow(
            "select count(*), count(*) filter (where outcome = 'lost_worker') as lost, "
            "count(*) filter (where outcome in ('released', 'undelivered', 'shutdown')) as released from attempts"
        )
        ends = dict(
            await connection.fetch(
                "select type, count(*) from events where type in ('CLAIM', 'RELEASE', 'COMPLETE', 'FAIL') group by type"
            )
        )
        first_claims = [await connection.fetchval(claims, at) for at in burnt.database_kills]
    wire = ", ".join(f"{network.met[fate]:,} {fate.value}" for fate in Fate if network.met[fate])
    connections = sum(listener.connections for listener in listeners)
    return {
        "Tasks": f"{TASKS:,} in {seconds:.0f} s by {WORKERS} workers at {SERVERS} servers",
        "Lost, done twice": "0, 0",
        "Claims = ends, task by task": ", ".join(f"{count:,} {kind}" for kind, count in sorted(ends.items())),
        "Attempts": f"{counts['count']:,}, of which {counts['lost']:,} were lost with their worker",
        "Stale reports": f"{refused:,} refused, 0 accepted",
        "Workers": f"{len(burnt.kills):,} killed, {burnt.stops:,} stopped, {burnt.cuts} cut off for "
        f"{AMOUNT.cut_seconds:g} s",
        "Servers": f"{burnt.server_kills} killed; back after {shown(burnt.server_away)}",
        "Postgres": f"{len(burnt.database_kills)} killed; back after {shown(burnt.database_away)}; first claim after "
        f"{shown(first_claims)}",
        "Requests": wire,
        "Task of a killed worker given up": f"after p99 {waits[int(len(waits) * 0.99)] if waits else 0:.2f} s; leases "
        f"last {server.LEASE:g} s and are swept every {server.SWEEP:g} s",
        "Budget": f"never exceeded in {burnt.snapshots:,} snapshots, changed {burnt.budgets:,} times",
        "Tried again by a person": f"{burnt.retries:,} tasks that had used up their attempts",
        "Events": f"{events:,}, chain verified, {late:,} of them committed after a later one",
        "Listeners": f"{len(listeners)}, each with the whole log in order, over {connections:,} connections",
        "Seed": f"`WHILLY_CHAOS_SEED={SEED} WHILLY_CHAOS_SCALE={SCALE:g}`",
    }


def write_report(page: Path, found: dict[str, str]) -> None:
    """Put the figures into the page, between its two marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "\n".join(f"| {what} | {value} |" for what, value in found.items())
    page.write_text(f"{before}{BEGIN}\n\n| | |\n|---|---|\n{rows}\n\n{END}{after}", encoding="utf-8")


async def seconds_until_given_up(database: Database, burnt: Burnt) -> list[float]:
    """From the kill of a worker that had a task until that attempt was over."""
    query = """select extract(epoch from ended_at - $2)::float8 from attempts
        where worker_id = $1 and claimed_at < $2 and ended_at > $2 and outcome = 'lost_worker'"""
    async with database.connection() as connection:
        found = [await connection.fetchval(query, f"w{place}", at) for place, at in burnt.kills]
    return [each for each in found if each is not None]
