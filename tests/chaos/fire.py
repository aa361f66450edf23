"""The fire: kills and stops things, evenly over the run, and meanwhile does what people do."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import psutil

from tests.chaos.books import SNAPSHOT
from tests.chaos.crew import Crew
from whilly.core.money import from_usd
from whilly.core.plan import Plan
from whilly.operations.set_budget import set_budget
from whilly.operations.steer_task import retry_task
from whilly.store import embedded
from whilly.store.database import AWAY, Database

SCALE = float(os.environ.get("WHILLY_CHAOS_SCALE") or 1)
SEED = int(os.environ.get("WHILLY_CHAOS_SEED") or time.time_ns() % 1_000_000)

POCKET_MONEY = from_usd("2.50")
"""What the budget is kept above what is spent and reserved: enough for five of eight workers."""

MOMENT = 0.03

HEIRS = """
select distinct lost.worker_id from attempts lost
join tasks t on t.plan_id = lost.plan_id and t.id = lost.task_id and t.epoch > lost.epoch and t.claim_id is not null
where lost.plan_id = $1 and lost.worker_id = any($2) and lost.outcome = 'lost_worker'
    and lost.ended_at > clock_timestamp() - interval '5 s'"""
"""Which of the workers $2 have just lost a task of plan $1 that somebody else works on now."""


@dataclass(frozen=True)
class Amount:
    """How much fire."""

    kills: int
    stops: int
    server_kills: int
    database_kills: int
    stop_seconds: tuple[float, float]
    patience: float
    """Seconds for the whole run."""
    cut_seconds: float = 0
    """How long one worker's network is down, once."""


@dataclass
class Burnt:
    """What was done to the system, and how long it took to come back."""

    kills: list[tuple[int, datetime]] = field(default_factory=list)
    """Each worker's place, and when."""
    stops: int = 0
    cuts: int = 0
    server_kills: int = 0
    database_kills: list[datetime] = field(default_factory=list)
    server_away: list[float] = field(default_factory=list)
    database_away: list[float] = field(default_factory=list)
    retries: int = 0
    budgets: int = 0
    snapshots: int = 0

    def __str__(self) -> str:
        return (
            f"killed {len(self.kills)} workers, {self.server_kills} servers, {len(self.database_kills)} Postgres; "
            f"stopped {self.stops} workers, cut {self.cuts} off; {self.retries} retried by a person; "
            f"{self.snapshots} snapshots and {self.budgets} changes of the budget; back after: servers "
            f"{shown(self.server_away)}, Postgres {shown(self.database_away)}"
        )


class Fire:
    """Burns until every task of the plan is DONE."""

    def __init__(
        self,
        database: Database,
        cluster: Path | None,
        plan: Plan,
        amount: Amount,
        chance: random.Random,
        cut: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """`cluster` is the folder of the embedded server that may be killed, `cut` takes a worker's network down."""
        self.burnt = Burnt()
        self._database, self._cluster, self._plan = database, cluster, plan
        self._amount, self._chance, self._cut = amount, chance, cut
        self._watching: set[asyncio.Task[None]] = set()

    async def burn(self, workers: Crew, servers: Crew, addresses: list[str]) -> None:
        """Kill and stop, and look after each step. AssertionError when money or time run out."""
        deadline = time.monotonic() + self._amount.patience
        done = 0
        while done < len(self._plan.tasks):
            assert time.monotonic() < deadline, f"{done} of {len(self._plan.tasks)} tasks are DONE; {self.burnt}"
            try:
                done = await self._look()
                await self._wake_those_with_heirs(workers)
            except AWAY:
                # Postgres is away, killed by us. That it comes back is seen by those who wait for it.
                await asyncio.sleep(MOMENT)
                continue
            workers.wake_those_due()
            share = done / len(self._plan.tasks)
            self._burn_workers(workers, share)
            self._burn_servers(servers, addresses, share)
            self._burn_database(share)
            self._burn_network(share)
            await asyncio.sleep(MOMENT)
        workers.wake_those_due(everybody=True)
        await asyncio.gather(*self._watching)

    async def _wake_those_with_heirs(self, workers: Crew) -> None:
        """Who was stopped comes back at the worst moment: when somebody else is at work on the same task."""
        if places := workers.stopped:
            async with self._database.connection() as connection:
                rows = await connection.fetch(HEIRS, self._plan.id, [f"w{place}" for place in places])
            for row in rows:
                workers.wake_early(int(row["worker_id"][1:]))

    def _burn_workers(self, workers: Crew, share: float) -> None:
        burnt = self.burnt
        if len(burnt.kills) < self._amount.kills * min(share * 1.1, 1) and (
            (place := workers.kill_one(self._chance)) is not None
        ):
            burnt.kills.append((place, datetime.now(UTC)))
        if burnt.stops < self._amount.stops * min(share * 1.1, 1):
            burnt.stops += workers.stop_one(self._chance, self._chance.uniform(*self._amount.stop_seconds))

    def _burn_servers(self, servers: Crew, addresses: list[str], share: float) -> None:
        if self.burnt.server_kills < self._amount.server_kills * min(share * 1.5, 1) - 0.5:
            place = self.burnt.server_kills % len(addresses)
            servers.kill(place)
            self.burnt.server_kills += 1
            self._watch(lambda: _answers(addresses[place]), self.burnt.server_away)

    def _burn_database(self, share: float) -> None:
        kills = self.burnt.database_kills
        if self._cluster and len(kills) < self._amount.database_kills * min(share * 1.5, 1) - 0.5:
            os.kill(_victim(self._cluster, connection=len(kills) % 2 == 1), signal.SIGKILL)
            kills.append(datetime.now(UTC))
            self._watch(self._database_answers, self.burnt.database_away)

    def _burn_network(self, share: float) -> None:
        if self._cut and not self.burnt.cuts and share > 0.3:
            self.burnt.cuts += 1
            self._watching.add(asyncio.create_task(_while_down(self._cut, self._amount.cut_seconds)))

    async def _look(self) -> int:
        """How many tasks are DONE. Watches the money, and is the person who gives more of it and tries again."""
        async with self._database.connection() as connection:
            seen = await connection.fetchrow(SNAPSHOT, self._plan.id)
        self.burnt.snapshots += 1
        if seen["budget_micros"] is not None:
            used = seen["spent_micros"] + seen["reserved_micros"]
            assert used <= seen["budget_micros"], f"more than the budget: {dict(seen)}"
            assert seen["reserved_micros"] == seen["reserved_by_tasks"], f"reservations do not add up: {dict(seen)}"
            if seen["budget_micros"] - used < POCKET_MONEY // 4:
                await self._give_money(seen)
        else:
            await self._give_money(seen)
        for task in seen["failed"]:
            await retry_task(self._database, self._plan.id, task, "the fire")
            self.burnt.retries += 1
        return int(seen["done"])

    async def _give_money(self, seen: Any) -> None:
        enough = seen["spent_micros"] + seen["reserved_by_tasks"] + POCKET_MONEY
        if self._chance.random() < 0.1:
            await set_budget(self._database, self._plan.id, None)
        await set_budget(self._database, self._plan.id, max(enough, seen["budget_micros"] or 0))
        self.burnt.budgets += 1

    def _watch(self, back: Callable[[], Awaitable[bool]], away: list[float]) -> None:
        """Find out after which time something answers again."""
        began = time.monotonic()

        async def watch() -> None:
            while not await back():  # noqa: ASYNC110 - nobody calls when it is back
                await asyncio.sleep(MOMENT)
            away.append(time.monotonic() - began)

        self._watching.add(asyncio.create_task(watch()))

    async def _database_answers(self) -> bool:
        try:
            connection = await asyncpg.connect(self._database.url, timeout=2)
            await connection.close()
        except AWAY:
            return False
        return True


async def _while_down(cut: Callable[[], AbstractContextManager[None]], seconds: float) -> None:
    with cut():
        await asyncio.sleep(seconds)


def _victim(cluster: Path, *, connection: bool) -> int:
    """Postgres itself, or the process of one of its connections, which takes all others with it."""
    running = embedded.served(cluster)
    assert running is not None
    if not connection:
        return running.postmaster
    children = psutil.Process(running.postmaster).children()
    return next(child.pid for child in children if " whilly postgres " in " ".join(child.cmdline()))


def shown(seconds: Sequence[float]) -> str:
    return ", ".join(f"{each:.1f} s" for each in seconds) or "-"


async def _answers(address: str) -> bool:
    try:
        async with httpx2.AsyncClient(base_url=address, timeout=2) as http:
            return bool((await http.get("/health/live")).is_success)
    except (httpx2.HTTPError, OSError):
        return False
