"""Tests that cannot see a missing fence are decoration: each guard, taken away, makes its own story fail."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.builders import LEASE, a_plan, a_task, claimed, finished, row_of, running, statuses
from whilly.core.money import from_usd
from whilly.operations.import_plan import import_plan
from whilly.operations.read_events import events_after
from whilly.operations.renew_leases import renew_leases
from whilly.operations.sequence_events import sequence_events
from whilly.operations.sweep_leases import sweep_leases
from whilly.store import database as store_database
from whilly.store import transaction as store_transaction
from whilly.store.database import Database
from whilly.store.statements import statement
from whilly.wire.work import Heartbeat


async def a_heartbeat_of_the_dead_keeps_nobodys_lease(database: Database) -> None:
    await import_plan(database, a_plan())
    lost = await running(database)
    await execute(database, "update tasks set lease_until = clock_timestamp() - interval '1 s'")
    await sweep_leases(database)
    await execute(database, "update tasks set parked_until = null")
    assert await claimed(database, lease=timedelta(seconds=1)) is not None
    before = (await row_of(database, "T1"))["lease_until"]

    await renew_leases(database, [(lost.key, Heartbeat("agent"))], LEASE)

    assert (await row_of(database, "T1"))["lease_until"] == before


async def a_lease_counts_from_when_it_is_written(database: Database) -> None:
    """The heartbeat waits for a lock; the lease it grants must not have begun before that."""
    await import_plan(database, a_plan())
    attempt = await running(database, lease=timedelta(milliseconds=1))
    async with database.connection() as connection:
        holding = connection.transaction()
        await holding.start()
        await connection.execute("select from tasks for update")
        beat = asyncio.create_task(renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE))
        await somebody_waits_for_a_lock(database)
        released = await connection.fetchval("select clock_timestamp()")
        await holding.rollback()
    await beat

    assert (await row_of(database, "T1"))["lease_until"] >= released + LEASE


async def a_living_lease_is_left_alone(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    await sweep_leases(database)

    assert await statuses(database) == {"T1": "IN_PROGRESS"}


async def sixteen_claims_at_once_stay_within_the_budget(database: Database) -> None:
    plan = a_plan(*(a_task(f"T{number}") for number in range(16)), budget=from_usd("2.00"))
    await import_plan(database, plan)

    answers = await asyncio.gather(*(claimed(database, worker=f"w{number}") for number in range(16)))

    assert sum(answer is not None for answer in answers) <= 4


async def the_last_two_prerequisites_release_their_dependant(database: Database) -> None:
    rounds = 40
    tasks = [a_task(f"{name}{number}") for number in range(rounds) for name in "AB"]
    tasks += [a_task(f"C{number}", (f"A{number}", f"B{number}")) for number in range(rounds)]
    await import_plan(database, a_plan(*tasks))
    attempts = [await running(database) for _ in range(2 * rounds)]
    for one, two in zip(attempts[::2], attempts[1::2], strict=True):
        await asyncio.gather(finished(database, one.key), finished(database, two.key))

    assert [(await row_of(database, f"C{number}"))["unmet"] for number in range(rounds)] == [0] * rounds


async def an_event_that_commits_late_is_heard(database: Database) -> None:
    insert = "insert into events (plan_id, type) values ('p', $1)"
    async with database.connection() as slow, database.connection() as fast:
        late = slow.transaction()
        await late.start()
        await slow.execute(insert, "first drawn")
        await fast.execute(insert, "first committed")
        await sequence_events(database)
        seen = await events_after(database, 0)
        await late.commit()
    await sequence_events(database)

    heard = [event.type for event in [*seen, *await events_after(database, seen[-1].position)]]

    assert heard == ["first committed", "first drawn"]


async def nothing_starts_before_its_prerequisites(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",))))
    await claimed(database)

    async with database.transaction() as tx:
        found = await tx.fetch("next_ready_tasks", "p", 5, ["scripted"], [""])

    assert found == []


@dataclass(frozen=True)
class Mutant:
    """A guard in a statement, and what stands there without it."""

    sql: str
    guard: str
    without: str
    story: Callable[[Database], Awaitable[None]]


MUTANTS = {
    "heartbeats without the epoch": Mutant(
        "renew_leases", "and t.epoch = a.epoch", "", a_heartbeat_of_the_dead_keeps_nobodys_lease
    ),
    "leases from the start of the transaction": Mutant(
        "renew_leases",
        "clock_timestamp() + make_interval",
        "now() + make_interval",
        a_lease_counts_from_when_it_is_written,
    ),
    "a sweep that does not look at the lease": Mutant(
        "expired_attempts", "and lease_until < clock_timestamp()", "", a_living_lease_is_left_alone
    ),
    "a budget that is only checked": Mutant(
        "lock_plan_budget", "for update", "", sixteen_claims_at_once_stay_within_the_budget
    ),
    "dependants that are not locked": Mutant(
        "lock_dependants", "for update of t", "", the_last_two_prerequisites_release_their_dependant
    ),
    "a log that is read by identity": Mutant(
        "events_after", "l.position > $1", "e.id > $1", an_event_that_commits_late_is_heard
    ),
    "claims that do not count prerequisites": Mutant(
        "next_ready_tasks", "and t.unmet = 0", "", nothing_starts_before_its_prerequisites
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
async def test_the_story_holds(database: Database, mutant: Mutant) -> None:
    await mutant.story(database)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
async def test_without_its_guard_the_story_fails(
    database: Database, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = statement(mutant.sql)
    assert mutant.guard in original, "the guard has moved: point the mutant at it"

    def mutated(name: str) -> str:
        return original.replace(mutant.guard, mutant.without) if name == mutant.sql else statement(name)

    monkeypatch.setattr(store_database, "statement", mutated)
    monkeypatch.setattr(store_transaction, "statement", mutated)

    with pytest.raises((AssertionError, LookupError)):
        await mutant.story(database)


async def somebody_waits_for_a_lock(database: Database) -> None:
    """Each look is a transaction of its own: within one, what others do does not change."""
    waits = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(10), database.connection() as looking:
        while not await looking.fetch(waits):  # noqa: ASYNC110 - the fact is in the database
            await asyncio.sleep(0.01)


async def execute(database: Database, sql: str) -> None:
    async with database.connection() as connection:
        await connection.execute(sql)
