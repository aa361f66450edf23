"""Two things in the same moment: what one has read is what the other has just changed."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import a_plan, a_report, a_task, claimed, finished, row_of, running, statuses, told
from tests.operations.slow_motion import held_at, locks_waited_for
from whilly.core.errors import LeaseLost
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.operations.finish_attempts import finish_attempts
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause
from whilly.operations.renew_leases import renew_leases
from whilly.operations.reset_plan import reset_plan
from whilly.operations.set_budget import set_budget
from whilly.operations.start_attempts import start_attempts
from whilly.operations.steer_task import cancel_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database
from whilly.wire.work import FinishAnswer, Heartbeat, Start

LEASE = timedelta(seconds=60)


@asynccontextmanager
async def tasks_locked(database: Database) -> AsyncIterator[None]:
    """Whoever wants a task waits until this is closed."""
    async with database.connection() as connection, connection.transaction():
        await connection.execute("select from tasks for update")
        yield


async def expire(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update tasks set lease_until = clock_timestamp() - interval '1 s' where claim_id is not null"
        )


async def money_of(database: Database) -> Any:
    """The plan's budget, what it has spent and reserved, and what its running tasks reserve."""
    query = """select budget_micros, spent_micros, reserved_micros,
        (select sum(reserved_micros) from tasks where claim_id is not null) as of_tasks from plans"""
    async with database.connection() as connection:
        return await connection.fetchrow(query)


async def test_a_report_that_two_servers_take_at_once_gets_one_answer(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    async with tasks_locked(database):
        both = [asyncio.create_task(finish_attempts(database, [(attempt.key, a_report())])) for _ in range(2)]
        await locks_waited_for(database, 2)

    assert [await each for each in both] == [[FinishAnswer(Status.DONE)]] * 2
    assert (await told(database, "T1")).count("COMPLETE") == 1


async def test_a_late_report_and_the_right_one_in_one_batch_are_both_charged(database: Database) -> None:
    await import_plan(database, a_plan(budget=from_usd("9")))
    lost = await running(database)
    await expire(database)
    await sweep_leases(database)
    async with database.connection() as connection:
        await connection.execute("update tasks set parked_until = null")
    living = await running(database)

    late, right = await finish_attempts(
        database, [(lost.key, a_report(cost=from_usd("2"))), (living.key, a_report(cost=from_usd("1")))]
    )

    assert isinstance(late, LeaseLost)
    assert right == FinishAnswer(Status.DONE)
    assert (await row_of(database, "T1"))["spent_micros"] == from_usd("3")
    assert (await money_of(database))["spent_micros"] == from_usd("3")


async def test_an_agent_that_starts_while_its_report_waits_is_charged(database: Database) -> None:
    """Its cost is unknown, so it is what was reserved; an attempt that never started costs nothing."""
    await import_plan(database, a_plan(budget=from_usd("5")))
    attempt = await claimed(database)
    assert attempt is not None
    async with tasks_locked(database):
        start = asyncio.create_task(start_attempts(database, [(attempt.key, Start("scripted"))]))
        await locks_waited_for(database, 1)
        end = asyncio.create_task(finish_attempts(database, [(attempt.key, a_report(cost=None))]))
        await locks_waited_for(database, 2)
    await start
    await end

    assert (await told(database, "T1"))[-2:] == ["START", "COMPLETE"]
    assert (await money_of(database))["spent_micros"] == from_usd("0.50")


async def test_a_claim_sees_the_task_that_it_locked(database: Database) -> None:
    """Reset after the claim has read the task, and before it locks it: its first attempt has not been, then."""
    await import_plan(database, a_plan())
    first = await running(database)
    await finished(database, first.key, a_report(Outcome.INCOMPLETE))
    async with held_at(database, "next_ready_tasks", "from tasks t") as held:
        claim = asyncio.create_task(claimed(database))
        await held()
        await reset_plan(database, "p", hard=False)
    assert await claim is not None

    assert (await row_of(database, "T1"))["attempts"] == 1
    async with database.connection() as connection:
        rows = await connection.fetch("select payload from events where task_id = 'T1' and payload ? 'version'")
    versions = [json.loads(row["payload"])["version"] for row in rows]
    assert len(set(versions)) == len(versions)


async def test_a_claim_waits_for_nobody(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    async with database.connection() as connection, connection.transaction():
        await connection.execute("select from tasks where id = 'A' for update")
        claim = asyncio.create_task(claimed(database))
        waits = asyncio.create_task(locks_waited_for(database, 1))
        await asyncio.wait((claim, waits), return_when=asyncio.FIRST_COMPLETED)
        in_time = claim.done()
        waits.cancel()
    found = await claim

    assert in_time
    assert found is not None
    assert found.spec.id == "B"


async def test_a_claim_that_reads_an_old_state_does_not_repeat_an_epoch(database: Database) -> None:
    await import_plan(database, a_plan())
    async with held_at(database, "next_ready_tasks", "from tasks t") as held:
        claim = asyncio.create_task(claimed(database))
        await held()
        other = await running(database)
        await finished(database, other.key, a_report(Outcome.INCOMPLETE))
    second = await claim

    assert second is not None
    assert second.epoch == 2
    assert second.earlier is not None


@pytest.mark.parametrize("end", [None, 0], ids=["claimed", "ended at no cost"])
async def test_a_first_budget_counts_what_is_just_being_claimed_or_ended(database: Database, end: int | None) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    already = await running(database)
    work: Callable[[], Awaitable[object]] = lambda: claimed(database)  # noqa: E731 - a choice of two
    statement, place = "next_ready_tasks", "from tasks t"
    if end is not None:
        work = lambda: finish_attempts(database, [(already.key, a_report(cost=end))])  # noqa: E731
        statement, place = "lock_attempts", "from unnest($1::text[], $2::text[], $3::int[])"
    async with held_at(database, statement, place) as held:
        racing = asyncio.ensure_future(work())
        await held()
        await set_budget(database, "p", from_usd("5"))
    await racing

    money = await money_of(database)
    assert money["reserved_micros"] == (money["of_tasks"] or 0)


async def test_a_first_budget_waits_for_a_claim_that_has_its_task(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    async with held_at(database, "open_attempts", "from unnest") as held:
        claim = asyncio.create_task(claimed(database))
        await held()
        budget = asyncio.create_task(set_budget(database, "p", from_usd("5")))
        waits = asyncio.create_task(locks_waited_for(database, 2))
        await asyncio.wait((budget, waits), return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
    await asyncio.gather(claim, budget)

    assert (await money_of(database))["reserved_micros"] == from_usd("0.50")


async def test_two_claims_that_both_saw_a_file_free_do_not_both_get_it(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", key_files=("x.py",)), a_task("B", key_files=("x.py",))))
    async with held_at(database, "next_ready_tasks", "from tasks t") as held:
        slower = asyncio.create_task(claimed(database))
        await held()
        assert await claimed(database) is not None
    assert await slower is None


async def test_the_last_two_prerequisites_in_one_batch_release_once(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), a_task("C", ("A", "B"))))
    attempts = [await running(database) for _ in "AB"]

    await finish_attempts(database, [(attempt.key, a_report()) for attempt in attempts])

    assert (await row_of(database, "C"))["unmet"] == 0
    assert await told(database, "C") == ["task.created", "task.ready"]


async def test_a_lease_counts_from_when_it_is_written(database: Database) -> None:
    """A heartbeat that waited for a lock grants a whole lease, not what the wait has left of it."""
    await import_plan(database, a_plan())
    attempt = await running(database, lease=timedelta(milliseconds=1))
    async with database.connection() as connection, connection.transaction():
        await connection.execute("select from tasks for update")
        beat = asyncio.create_task(renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE))
        await locks_waited_for(database, 1)
        released = await connection.fetchval("select clock_timestamp()")
    await beat

    assert (await row_of(database, "T1"))["lease_until"] >= released + LEASE


async def test_a_task_cancelled_while_it_is_swept_is_not_tried_again(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)
    await expire(database)
    async with held_at(database, "expired_attempts", "from tasks") as held:
        sweep = asyncio.create_task(sweep_leases(database))
        await held()
        await cancel_task(database, "p", "T1", "ada")
    assert await sweep == 1

    assert await statuses(database) == {"T1": "FAILED"}


async def test_a_lease_renewed_while_it_is_swept_is_kept(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    await expire(database)
    async with held_at(database, "expired_attempts", "from tasks") as held:
        sweep = asyncio.create_task(sweep_leases(database))
        await held()
        await renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE)
    assert await sweep == 0

    assert await statuses(database) == {"T1": "IN_PROGRESS"}


async def test_a_heartbeat_that_overtakes_the_start_keeps_both(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await claimed(database, lease=timedelta(seconds=5))
    assert attempt is not None
    async with held_at(database, "renew_leases", "from asked a") as held:
        beat = asyncio.create_task(renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE))
        await held()
        await start_attempts(database, [(attempt.key, Start("scripted"))])
    await beat

    row = await row_of(database, "T1")
    assert row["status"] == "IN_PROGRESS"
    assert row["lease_until"] - row["claimed_at"] > timedelta(seconds=50)


async def test_a_pause_that_comes_while_a_task_is_claimed_holds_from_then_on(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    async with held_at(database, "next_ready_tasks", "from tasks t") as held:
        claim = asyncio.create_task(claimed(database))
        await held()
        await pause(database, "p", "lunch", "ada")
    assert await claim is not None

    assert await claimed(database) is None
