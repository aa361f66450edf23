"""The full cycle over HTTP: claim, start, finish; one server process, 64 clients, each with a connection of its own."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.caller import Caller, callers
from bench.contenders import orchestrator
from bench.contenders.orchestrator import Orchestrator
from bench.control_plane import ServerProcess, control_plane
from bench.fill import tell_of_old
from bench.plans import layered
from bench.postgres import Postgres, folder, postgres
from bench.series import Series, in_turn, number
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.reset_plan import reset_plan
from whilly.store.database import Database

CLIENTS = 64
RATE = Bar(at_least=400)
TIMES = Bar(at_least=15, ratio=True)
SERVER_MS = Bar(at_most=1.5)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OURS = "Whilly"


@dataclass(frozen=True, slots=True)
class Served:
    """What a round took."""

    tasks: int
    seconds: float
    server_cpu: float
    postgres_cpu: float

    @property
    def rate(self) -> float:
        """Tasks per second."""
        return self.tasks / self.seconds

    @property
    def server_ms(self) -> float:
        """Milliseconds of the server's CPU per task."""
        return self.server_cpu / self.tasks * 1e3

    @property
    def postgres_ms(self) -> float:
        """Milliseconds of PostgreSQL's CPU per task."""
        return self.postgres_cpu / self.tasks * 1e3


Round = Callable[[int], Awaitable[Served]]


async def measure(sizes: Sizes) -> Table:
    """One round of each server after the other, several times: with little and much to do, and with a past."""
    async with AsyncExitStack() as held:
        place = held.enter_context(folder())
        server = await held.enter_async_context(postgres())
        database = await held.enter_async_context(server.database("http"))
        running = await held.enter_async_context(control_plane(database.url, place))
        bearers = await worker_tokens(database, CLIENTS)
        rival = await asyncio.to_thread(orchestrator.interpreter, may_install=sizes.may_install)
        theirs: Orchestrator | None = None
        if isinstance(rival, Path):
            theirs = await held.enter_async_context(orchestrator.orchestrator(rival, server, CLIENTS, place))

        async def contenders(pending: int, what: str) -> list[tuple[str, str, Round]]:
            ours = (OURS, what, _ours(server, database, running, bearers, pending, sizes.cycles))
            if theirs is None:
                return [ours]
            return [ours, (orchestrator.NAME, what, await _rival(server, theirs, place, pending, sizes))]

        fresh = [each for pending in sizes.pending for each in await contenders(pending, f"{pending:,} pending")]
        found = await _rounds(fresh, sizes.rounds)
        await tell_of_old(database, sizes.past)
        await numbered(database)
        if theirs is not None:
            await theirs.grow_old(sizes.past, place)
        pending = sizes.pending[1]
        used = await contenders(pending, f"{pending:,} pending and {sizes.past:,} old events")
        found |= await _rounds(used, sizes.rounds)
    return _table(sizes, found, "" if isinstance(rival, Path) else rival)


async def _rounds(contenders: list[tuple[str, str, Round]], rounds: int) -> dict[tuple[str, str], list[Served]]:
    found: dict[tuple[str, str], list[Served]] = {(name, what): [] for name, what, _ in contenders}
    for number_of_round in range(rounds):
        for name, what, one in in_turn(contenders, number_of_round):
            found[name, what].append(await one(number_of_round))
    return found


def _ours(
    server: Postgres, database: Database, running: ServerProcess, bearers: list[str], pending: int, tasks: int
) -> Round:
    async def one(_number_of_round: int) -> Served:
        plan = f"plan-{uuid.uuid4().hex[:8]}"
        await import_plan(database, layered(plan, pending + tasks))
        await numbered(database)
        async with callers(running.port, bearers) as hands:
            served = await _timed(server, running, lambda: _all(hands, plan, tasks))
        await reset_plan(database, plan, hard=True)
        return served

    return one


async def _rival(server: Postgres, theirs: Orchestrator, place: Path, pending: int, sizes: Sizes) -> Round:
    tasks = sizes.rival_cycles
    plan = await theirs.add_plan(pending + sizes.rounds * tasks, place)

    async def one(_number_of_round: int) -> Served:
        async with callers(theirs.process.port, theirs.workers.values()) as hands:
            await theirs.keep_alive(hands)
            return await _timed(server, theirs.process, lambda: theirs.work_off(hands, plan, tasks))

    return one


async def _timed(server: Postgres, running: ServerProcess, work: Callable[[], Awaitable[int]]) -> Served:
    await server.settle()
    of_postgres, of_server, began = server.cpu(), running.cpu(), time.perf_counter()
    tasks = await work()
    took = time.perf_counter() - began
    return Served(tasks, took, running.cpu() - of_server, server.cpu() - of_postgres)


async def worker_tokens(database: Database, count: int) -> list[str]:
    """Bearers of so many workers."""
    issued = [await issue_token(database, TokenKind.WORKER, worker=f"worker-{number}") for number in range(count)]
    return [token.bearer for token in issued]


async def _all(hands: list[Caller], plan: str, tasks: int) -> int:
    left = [tasks]
    await asyncio.gather(*(work_off(caller, plan, left) for caller in hands))
    return tasks


async def work_off(caller: Caller, plan: str, left: list[int]) -> None:
    """Bring tasks to DONE, one after the other, as long as there are any left."""
    report = {
        "outcome": "completed",
        "summary": "Done.",
        "head_commit": COMMIT,
        "files_changed": 1,
        "branch": "whilly/plan/task",
        "usage": {"cost": 0},
    }
    while left[0] > 0:
        left[0] -= 1
        found = None
        while found is None:
            asked = {"claim_id": uuid.uuid4().hex, "plan": plan, "agents": ["scripted"], "wait_seconds": 10}
            found = await caller.told("/api/v1/claim", asked)
        attempt = f"/api/v1/plans/{plan}/tasks/{found['spec']['id']}/attempts/{found['epoch']}"
        await caller.told(f"{attempt}/start", {"agent": "scripted", "base_commit": COMMIT})
        answer = await caller.told(f"{attempt}/finish", report)
        if answer["status"] != "DONE":
            raise AssertionError(f"{attempt} is {answer}")


async def numbered(database: Database) -> None:
    """Wait until the server has given every event its position."""
    async with asyncio.timeout(60), database.connection() as connection:
        while await connection.fetchval("select exists (select from events_pending)"):  # noqa: ASYNC110 - its loop does
            await asyncio.sleep(0.05)


def _table(sizes: Sizes, found: dict[tuple[str, str], list[Served]], without: str) -> Table:
    figures = []
    for name, what in found:
        if name == OURS:
            figures += _figures(what, found[OURS, what], found.get((orchestrator.NAME, what)))
    notes = [
        f"{sizes.cycles:,} tasks per round, {sizes.rounds} rounds; three requests each, two prerequisites each, every "
        f"event numbered and chained. {orchestrator.NAME}: {sizes.rival_cycles:,} tasks or "
        f"{orchestrator.SECONDS:g} s per round, two requests each, no prerequisites. Both speak to the same PostgreSQL "
        "and to the same clients, which share the machine with them. So many tasks still wait when a round is over."
    ]
    if without:
        notes.append(f"{without}.")
    return Table("http: claim, start, finish over HTTP, one server process, 64 clients", tuple(figures), tuple(notes))


def _figures(what: str, ours: list[Served], theirs: list[Served] | None) -> list[Figure]:
    def line(name: str, bar: Bar | None, pick: Callable[[Served], float], cpu: str = "") -> Figure:
        rival = Series.of(theirs, pick) if theirs else None
        return Figure(f"{name}, {what}", Series.of(ours, pick), bar, orchestrator.NAME if theirs else "", rival, cpu)

    costs = f"{number(Series.of(ours, lambda each: each.postgres_ms).median)} ms PostgreSQL"
    rates = [line("tasks/s", RATE, lambda each: each.rate, costs)]
    if theirs:
        rates.append(line("… by the contender's", TIMES, lambda each: each.rate))
    return [
        *rates,
        line("server's CPU, ms/task", SERVER_MS, lambda each: each.server_ms),
        line("PostgreSQL's CPU, ms/task", None, lambda each: each.postgres_ms),
    ]
