"""Leases: renewed, lost, swept, and never accepted twice."""

import asyncio
from datetime import timedelta

import pytest

from tests.builders import a_plan, a_report, a_task, claimed, finished, row_of, running, statuses, told
from whilly.core.errors import LeaseLost
from whilly.core.evidence import Usage
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.operations.append_events import append_events
from whilly.operations.finish_attempts import finish_attempts, release_attempt
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause, resume
from whilly.operations.read_attempts import task_detail
from whilly.operations.renew_leases import renew_leases
from whilly.operations.set_budget import set_budget
from whilly.operations.start_attempts import start_attempts
from whilly.operations.steer_task import cancel_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database
from whilly.wire.work import AttemptEvent, Heartbeat, HeartbeatAnswer, Release, Start

LEASE = timedelta(seconds=60)


async def expire(database: Database) -> None:
    """Let every lease run out."""
    async with database.connection() as connection:
        await connection.execute(
            "update tasks set lease_until = clock_timestamp() - interval '1 s' where claim_id is not null"
        )


async def test_a_silent_worker_loses_its_task_and_another_gets_it(database: Database) -> None:
    await import_plan(database, a_plan())
    lost = await running(database, worker="w1")
    await expire(database)

    assert await sweep_leases(database) == 1

    row = await row_of(database, "T1")
    assert (row["status"], row["attempts"]) == ("PENDING", 1)
    assert round((row["parked_until"] - row["updated_at"]).total_seconds()) == 5
    with pytest.raises(LeaseLost):
        await finished(database, lost.key)
    assert (await statuses(database))["T1"] == "PENDING"
    (seen,) = (await task_detail(database, "p", "T1")).attempts
    assert seen.outcome == "lost_worker"


async def test_an_attempt_that_cannot_be_ended_does_not_keep_the_others(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(task) for task in "ABC")))
    for worker in ("w1", "cursed", "w2"):
        await running(database, worker=worker)
    await expire(database)
    async with database.connection() as connection:
        await connection.execute(
            "alter table attempts add constraint c check (worker_id <> 'cursed' or outcome is null)"
        )

    assert await sweep_leases(database) == 2

    assert await statuses(database) == {"A": "PENDING", "B": "IN_PROGRESS", "C": "PENDING"}


async def test_a_living_lease_is_not_swept(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    assert await sweep_leases(database) == 0


async def test_a_task_that_kills_its_workers_ends_failed(database: Database) -> None:
    await import_plan(database, a_plan())
    for _ in range(3):
        await running(database)
        await expire(database)
        await sweep_leases(database)
        async with database.connection() as connection:
            await connection.execute("update tasks set parked_until = null")

    assert await statuses(database) == {"T1": "FAILED"}
    assert "silent" in (await row_of(database, "T1"))["reason"]


async def test_a_heartbeat_extends_the_lease(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database, lease=timedelta(seconds=1))

    answers = await renew_leases(database, [(attempt.key, Heartbeat("agent", "writing"))], LEASE)

    assert answers == [HeartbeatAnswer(60.0)]
    row = await row_of(database, "T1")
    assert (row["lease_until"] - row["claimed_at"]).total_seconds() > 59
    (seen,) = (await task_detail(database, "p", "T1")).attempts
    assert seen.phase == "agent"


async def test_a_heartbeat_of_an_old_epoch_extends_nothing(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    lost = await running(database)
    await expire(database)
    await sweep_leases(database)
    living = await running(database)
    assert living.spec.id == "B"

    answers = await renew_leases(database, [(lost.key, Heartbeat("agent")), (living.key, Heartbeat("agent"))], LEASE)

    assert isinstance(answers[0], LeaseLost)
    assert isinstance(answers[1], HeartbeatAnswer)


async def test_nothing_of_an_old_attempt_reaches_the_new_one(database: Database) -> None:
    await import_plan(database, a_plan())
    lost = await running(database)
    await expire(database)
    await sweep_leases(database)
    async with database.connection() as connection:
        await connection.execute("update tasks set parked_until = null")
    living = await claimed(database)
    assert living is not None
    before = await row_of(database, "T1")

    (beat,) = await renew_leases(database, [(lost.key, Heartbeat("agent"))], 2 * LEASE)
    (start,) = await start_attempts(database, [(lost.key, Start("scripted"))])
    (report,) = await finish_attempts(database, [(lost.key, a_report())])
    with pytest.raises(LeaseLost):
        await release_attempt(database, lost.key, Release("shutdown"))
    with pytest.raises(LeaseLost):
        await append_events(database, lost.key, [AttemptEvent("verification.started", number=1)])

    assert [type(answer) for answer in (beat, start, report)] == [LeaseLost] * 3
    assert await row_of(database, "T1") == {**before, "spent_micros": 0}
    assert (await finished(database, living.key)).status is Status.DONE


async def test_a_heartbeat_tells_of_a_cancel(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    assert await cancel_task(database, "p", "T1", "ada") is Status.IN_PROGRESS

    (answer,) = await renew_leases(database, [(attempt.key, Heartbeat("agent"))], LEASE)

    assert isinstance(answer, HeartbeatAnswer)
    assert answer.cancel
    assert (await finished(database, attempt.key, a_report(Outcome.CANCELLED))).status is Status.FAILED


async def test_a_cancelled_task_whose_worker_is_lost_is_not_tried_again(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)
    await cancel_task(database, "p", "T1", "ada")
    await expire(database)

    await sweep_leases(database)

    assert await statuses(database) == {"T1": "FAILED"}


async def test_a_running_attempt_gets_more_money_while_the_plan_has_some(database: Database) -> None:
    await import_plan(database, a_plan(budget=from_usd("1.20")))
    attempt = await running(database)
    assert attempt.limit == from_usd("0.50")

    limits = []
    for used in ("0.10", "0.30", "0.60", "0.90"):
        beat = Heartbeat("agent", usage=Usage(from_usd(used)))
        (answer,) = await renew_leases(database, [(attempt.key, beat)], LEASE)
        assert isinstance(answer, HeartbeatAnswer)
        limits.append(answer.limit)

    assert limits == [from_usd("0.50"), from_usd("1.00"), from_usd("1.20"), from_usd("1.20")]


async def test_a_budget_lowered_while_agents_run_lowers_their_limits(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), budget=from_usd("5")))
    attempts = [await running(database) for _ in range(2)]
    await set_budget(database, "p", from_usd("0.80"))

    beats = [(attempt.key, Heartbeat("agent")) for attempt in attempts]
    answers = await renew_leases(database, beats, LEASE)

    assert [answer.limit for answer in answers if isinstance(answer, HeartbeatAnswer)] == [from_usd("0.30")] * 2


async def test_money_spent_by_a_lost_worker_is_booked_when_it_turns_up(database: Database) -> None:
    await import_plan(database, a_plan(budget=from_usd("5")))
    lost = await running(database)
    await expire(database)
    await sweep_leases(database)
    assert (await row_of(database, "T1"))["spent_micros"] == from_usd("0.50")

    for _ in range(2):
        with pytest.raises(LeaseLost):
            await finished(database, lost.key, a_report(cost=from_usd("2.00")))

    assert (await row_of(database, "T1"))["spent_micros"] == from_usd("2.00")
    async with database.connection() as connection:
        assert await connection.fetchval("select spent_micros from plans") == from_usd("2.00")


async def test_a_start_may_be_repeated_but_not_by_the_dead(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    assert await start_attempts(database, [(attempt.key, Start("scripted"))] * 2) == [None, None]
    await expire(database)
    await sweep_leases(database)

    (answer,) = await start_attempts(database, [(attempt.key, Start("scripted"))])

    assert isinstance(answer, LeaseLost)
    assert (await told(database, "T1")).count("START") == 1


async def test_a_report_and_a_sweep_at_the_same_moment_agree(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(f"T{n}") for n in range(40))))
    attempts = [await running(database) for _ in range(40)]
    await expire(database)

    async def report(number: int) -> bool:
        try:
            return (await finished(database, attempts[number].key)).status is Status.DONE
        except LeaseLost:
            return False

    *accepted, _, _ = await asyncio.gather(
        *(report(number) for number in range(40)), sweep_leases(database), sweep_leases(database)
    )

    final = await statuses(database)
    assert [final[f"T{n}"] == "DONE" for n in range(40)] == accepted
    assert set(final.values()) <= {"DONE", "PENDING"}


async def test_only_a_worker_with_the_lease_is_claimed_by_nobody_else(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    assert await claimed(database, worker="w2") is None


@pytest.mark.parametrize("plan", ["p", None])
async def test_a_heartbeat_learns_that_nothing_more_is_handed_out(database: Database, plan: str | None) -> None:
    await import_plan(database, a_plan(a_task("A")))
    assignment = await running(database)
    await pause(database, plan, "lunch", "ann")
    (answer,) = await renew_leases(database, [(assignment.key, Heartbeat("agent"))], LEASE)
    assert isinstance(answer, HeartbeatAnswer)
    assert answer.paused
    await resume(database, plan, "ann")
    (answer,) = await renew_leases(database, [(assignment.key, Heartbeat("agent"))], LEASE)
    assert isinstance(answer, HeartbeatAnswer)
    assert not answer.paused
