"""Works tasks off through the control plane's own batches, with agents that take no time."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.postgres import Postgres
from bench.processes import own_cpu
from whilly.core.assignment import Assignment
from whilly.core.evidence import Report, Usage
from whilly.core.money import Micros
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.operations.sequence_events import sequence_events
from whilly.server.engine import Engine, Timing
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest, Start

CONCURRENT = 16
AGENTS = ("scripted",)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True, slots=True)
class Drained:
    """What it took to work tasks off."""

    tasks: int
    seconds: float
    postgres_cpu: float
    own_cpu: float
    claims: tuple[float, ...] = ()
    """Seconds from each request for a task to the task, the wait behind other requests included."""

    @property
    def rate(self) -> float:
        """Tasks per second."""
        return self.tasks / self.seconds

    @property
    def postgres_ms(self) -> float:
        """Milliseconds of PostgreSQL's CPU per task."""
        return self.postgres_cpu / self.tasks * 1e3

    @property
    def own_ms(self) -> float:
        """Milliseconds of this process' CPU per task."""
        return self.own_cpu / self.tasks * 1e3


async def drain(
    server: Postgres, database: Database, plan: str, tasks: int, *, cost: Micros = 0, workers: int = CONCURRENT
) -> Drained:
    """Bring so many tasks of a plan to DONE. The time ends when all that happened has its place in the log."""
    while await sequence_events(database):
        pass
    await server.settle()
    claims: list[float] = []
    async with _engine(database) as engine:
        theirs, mine, began = server.cpu(), own_cpu(), time.perf_counter()
        left = [tasks]
        await asyncio.gather(*(_worker(engine, f"worker-{n}", plan, left, cost, claims) for n in range(workers)))
        await engine.sequencer.catch_up()
        took, mine = time.perf_counter() - began, own_cpu() - mine
        return Drained(tasks, took, server.cpu() - theirs, mine, tuple(claims))


@asynccontextmanager
async def _engine(database: Database) -> AsyncIterator[Engine]:
    engine = Engine(database, Timing())
    sequencer = asyncio.create_task(engine.sequencer.run())
    try:
        yield engine
    finally:
        sequencer.cancel()
        await asyncio.wait([sequencer])
        engine.close()


async def _worker(engine: Engine, name: str, plan: str, left: list[int], cost: Micros, claims: list[float]) -> None:
    report = Report(
        Outcome.COMPLETED,
        summary="Done.",
        head_commit=COMMIT,
        files_changed=1,
        branch="whilly/plan/task",
        usage=Usage(cost),
    )
    while left[0]:
        left[0] -= 1
        assignment = await _claim(engine, name, plan, claims)
        await engine.starts.submit((assignment.key, Start(AGENTS[0], base_commit=COMMIT)))
        answer = await engine.finishes.submit((assignment.key, report))
        if answer.status is not Status.DONE:
            raise AssertionError(f"{assignment.spec.id} is {answer.status}: {answer.reason}")


async def _claim(engine: Engine, name: str, plan: str, claims: list[float]) -> Assignment:
    while True:
        seen = engine.wakeups.generation(plan)
        began = time.perf_counter()
        assignment = await engine.claims.submit((name, ClaimRequest(uuid.uuid4().hex, plan, AGENTS)))
        if assignment is not None:
            claims.append(time.perf_counter() - began)
            return assignment
        await engine.wakeups.wait((plan, AGENTS), seen, 10)
