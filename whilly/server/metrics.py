"""The answer to a scrape. All numbers are facts of the database, so that each process gives the same ones."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from whilly.core.money import Micros, to_usd
from whilly.operations.count_events import PAGE, count_events
from whilly.operations.read_metrics import (
    Counted,
    PlanMoney,
    PlanQueue,
    System,
    read_money,
    read_queues,
    read_system,
    read_tallies,
)
from whilly.server import metric_names as names
from whilly.server.metrics_text import Family, rendered
from whilly.server.timings import Timings
from whilly.store.database import Database

MOST_PLANS = 200
"""Plans with numbers of their own: those that changed last."""

MOST_SERIES = 2_000
"""Per metric, as many as there may be workers."""

CATCH_UP_SECONDS = 1.0
"""How long one answer goes on counting a log that was never counted before."""

FRESH_SECONDS = 1.0
"""For so long an answer is given again."""

REST = 50
"""How many times as long as counting the queue took, it is not counted again: of a million tasks twice a minute."""

_Values = dict[str, dict[tuple[str, ...], float]]


class Metrics:
    """Reads the numbers when they are asked for; nothing goes on in between."""

    def __init__(self, database: Database, timings: Timings) -> None:
        self._database = database
        self._timings = timings
        self._one_at_a_time = asyncio.Lock()
        self._answer = ""
        self._answered_at = float("-inf")
        self._queues: dict[str, PlanQueue] = {}
        self._count_again_at = float("-inf")

    async def text(self) -> str:
        """All metrics in Prometheus' text format."""
        async with self._one_at_a_time:
            if time.monotonic() - self._answered_at >= FRESH_SECONDS:
                self._answer = await self._read()
                self._answered_at = time.monotonic()
            return self._answer

    async def _read(self) -> str:
        await self._timings.save()
        await self._count()
        tallies = await read_tallies(self._database)
        active = _last_changes(tallies)
        money = await read_money(self._database, _latest(active), MOST_PLANS)
        known = {plan.id: max(plan.created_at, active.get(plan.id, plan.created_at)) for plan in money}
        shown = _latest({**active, **known})
        await self._count_queues([plan for plan in shown if plan in known])
        values: _Values = defaultdict(dict)
        _put_tallies(values, tallies, set(shown))
        for plan in money:
            if plan.id in shown:
                _put_money(values, plan)
        for plan_id, queue in self._queues.items():
            if plan_id in shown:
                values[names.CLAIMS_PENDING.name][plan_id,] = queue.pending
                values[names.QUEUE_AGE.name][plan_id,] = queue.age_seconds
        _put_system(values, await read_system(self._database))
        left_out = (money[0].plans if money else 0) - len(set(shown) & set(known))
        values[names.PLANS_LEFT_OUT.name][()] = max(left_out, 0)
        return rendered([(family, values[family.name]) for family in names.FAMILIES])

    async def _count(self) -> None:
        until = time.monotonic() + CATCH_UP_SECONDS
        while await count_events(self._database) == PAGE and time.monotonic() < until:
            pass

    async def _count_queues(self, plans: Sequence[str]) -> None:
        began = time.monotonic()
        if began < self._count_again_at and self._queues.keys() >= set(plans):
            return
        self._queues = {queue.id: queue for queue in await read_queues(self._database, plans)}
        ended = time.monotonic()
        self._count_again_at = ended + REST * (ended - began)


def _last_changes(tallies: Sequence[Counted]) -> dict[str, datetime]:
    """When something was last counted of each plan."""
    changes: dict[str, datetime] = {}
    for counted in tallies:
        name, labels = counted.tally
        if name in _OF_PLANS:
            changes.setdefault(labels[0], counted.at)
    return changes


_OF_PLANS = {family.name for family in names.FAMILIES if family.labels[:1] == ("plan_id",)}


def _latest(changes: dict[str, datetime]) -> list[str]:
    return sorted(changes, key=lambda plan: (changes[plan], plan), reverse=True)[:MOST_PLANS]


def _put_tallies(values: _Values, tallies: Sequence[Counted], plans: set[str]) -> None:
    for counted in tallies:
        name, labels = counted.tally
        if (name not in _OF_PLANS or labels[0] in plans) and len(values[name]) < MOST_SERIES:
            values[name][labels] = counted.value


def _put_money(values: _Values, plan: PlanMoney) -> None:
    def put(family: Family, amount: Micros) -> None:
        values[family.name][plan.id,] = float(to_usd(amount))

    put(names.SPENT, plan.spent)
    put(names.RESERVED, plan.reserved)
    put(names.SPENT_TODAY, plan.spent_today)
    if plan.budget is not None:
        put(names.BUDGET_REMAINING, plan.budget - plan.spent)
    if plan.daily_budget is not None:
        put(names.DAILY_REMAINING, plan.daily_budget - plan.spent_today)


def _put_system(values: _Values, system: System) -> None:
    for family, value in (
        (names.WORKERS_ONLINE, system.workers_online),
        (names.EVENTS, system.events),
        (names.SEQUENCER_LAG, system.lag_seconds),
        (names.SEQUENCER_PENDING, system.pending_events),
        (names.UNCOUNTED, system.events - system.counted),
    ):
        values[family.name][()] = value
