"""Attempts that end before their agent thinks so: the agent is dead first, and the task is where it belongs."""

import time
from pathlib import Path

import psutil
import pytest

from tests.builders import a_check, a_plan, a_task
from tests.worker.network import Fault
from tests.worker.until import until
from tests.worker.workshop import workshop
from whilly.core.outcome import Outcome
from whilly.operations.steer_task import cancel_task
from whilly.store.database import Database

STUBBORN = """
trap '' TERM
echo precious > T1.txt
setsid sh -c 'trap "" TERM; echo $$ > {folder}/daemon; while :; do sleep 0.2; done' &
echo $$ > {folder}/agent
while :; do sleep 0.2; done
"""
"""Ignores TERM, and so does what it started in a session of its own."""


def dead(*pids: str) -> bool:
    return not any(psutil.pid_exists(int(pid)) for pid in pids)


async def test_a_worker_told_to_stop_kills_its_agent_and_then_gives_the_task_back(
    database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": STUBBORN.format(folder=tmp_path)}) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working() as (stop, worker):
            pids = [await shop.appears(tmp_path / name) for name in ("agent", "daemon")]
            alive_at_release: list[bool] = []
            shop.room.network.on_request = lambda verb: (
                alive_at_release.append(not dead(*pids)) if verb == "release" else None
            )
            asked = time.monotonic()
            stop.set()
            await worker
            assert time.monotonic() - asked < 10
        assert alive_at_release == [False]
        assert shop.ended[0].outcome is Outcome.RELEASED
        task = await shop.room.task("T1")
        assert (task["status"], task["attempts"]) == ("PENDING", 0)
        released = dict(await shop.room.events("T1"))["RELEASE"]
        assert (released["reason"], released["counted"]) == ("shutdown", False)
        (attempt,) = await shop.room.attempts("T1")
        assert shop.repository.file(attempt["kept_ref"], "T1.txt") == "precious"


async def test_asked_twice_it_takes_no_time(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": STUBBORN.format(folder=tmp_path)}) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working() as (stop, worker):
            pids = [await shop.appears(tmp_path / name) for name in ("agent", "daemon")]
            asked = time.monotonic()
            stop.set()
            stop.set()
            await worker
            assert time.monotonic() - asked < 2
        assert dead(*pids)
        assert (await shop.room.task("T1"))["status"] == "PENDING"


async def test_an_idle_worker_stops_at_once_and_takes_nothing(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "true"}) as shop:
        await shop.room.submit(a_plan(a_task("T1", needs=()), a_task("T2", ("T1",))), shop.repository.path)
        async with database.connection() as connection:
            await connection.execute("update tasks set parked_until = clock_timestamp() + interval '1 hour'")
        async with shop.working(slots=3) as (stop, worker):
            await until(lambda: shop.room.network.seen.count("claim") == 3)
            asked = time.monotonic()
            stop.set()
            await worker
            assert time.monotonic() - asked < 1
        assert (await shop.room.task("T1"))["epoch"] == 0


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.BLACK_HOLE], ids=lambda each: each.name)
async def test_a_claim_whose_answer_was_lost_strands_no_task(database: Database, tmp_path: Path, fault: Fault) -> None:
    async with workshop(database, tmp_path, {"*": "sleep 60"}) as shop:
        shop.room.network.faults["claim"] = fault
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working() as (stop, worker):
            await until(lambda: "claim" in shop.room.network.seen)
            stop.set()
            del shop.room.network.faults["claim"]
            await worker
        task = await shop.room.task("T1")
        assert (task["status"], task["attempts"]) == ("PENDING", 0)


async def test_a_claim_whose_answer_was_lost_is_asked_again_and_worked_on(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo x > T1.txt"}) as shop:
        shop.room.network.faults["claim"] = Fault.LOST_ANSWER
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working():
            await until(lambda: shop.room.network.seen.count("claim") >= 2)
            del shop.room.network.faults["claim"]
            await shop.reached("T1", "DONE")
        assert (await shop.room.told("T1")).count("CLAIM") == 1
        assert any("no usable answer" in sentence for sentence in shop.said)


async def test_a_cancelled_task_has_no_agent_two_seconds_later(database: Database, tmp_path: Path) -> None:
    script = STUBBORN.replace("trap '' TERM", "", 1).format(folder=tmp_path)
    async with workshop(database, tmp_path, {"T1": script, "T2": "echo x > T2.txt"}) as shop:
        await shop.room.submit(a_plan(a_task("T1"), a_task("T2")), shop.repository.path)
        async with shop.working():
            pids = [await shop.appears(tmp_path / name) for name in ("agent", "daemon")]
            await cancel_task(database, "p", "T1", "ann")
            asked = time.monotonic()
            await until(lambda: dead(pids[0]))
            assert time.monotonic() - asked < 2
            await shop.reached("T1", "FAILED")
            assert dead(*pids), "it counts as cancelled only when all of it is dead"
            await shop.reached("T2", "DONE")
        (attempt,) = await shop.room.attempts("T1")
        assert attempt["outcome"] == "cancelled"
        assert shop.repository.file(attempt["kept_ref"], "T1.txt") == "precious"


async def test_a_worker_that_lost_contact_has_no_agent_when_the_lease_ends(database: Database, tmp_path: Path) -> None:
    script = STUBBORN.replace("trap '' TERM", "", 1).format(folder=tmp_path)
    async with workshop(database, tmp_path, {"*": script}, lease=3) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working():
            pids = [await shop.appears(tmp_path / name) for name in ("agent", "daemon")]
            shop.room.network.faults["*"] = Fault.CUT
            await until(lambda: dead(*pids))
            assert (await shop.room.task("T1"))["epoch"] == 1, "nobody else had it yet"
            assert await shop.lease_lasts("T1")
            shop.room.network.faults.clear()
            await shop.attempt_ended("T1")
        assert (await shop.room.attempts("T1"))[0]["outcome"] == "lost_worker"


async def test_a_worker_whose_task_was_given_away_stops_and_publishes_nothing(
    database: Database, tmp_path: Path
) -> None:
    script = f"echo $$ > {tmp_path}/agent; echo mine > T1.txt; sleep 60"
    async with workshop(database, tmp_path, {"*": script}) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working():
            pid = await shop.appears(tmp_path / "agent")
            async with database.connection() as connection:
                # As if a sweep and another worker's claim had happened meanwhile.
                await connection.execute("update tasks set epoch = epoch + 1")
            await until(lambda: dead(pid))
            await until(lambda: "finish" in shop.room.network.passed)
            await until(lambda: any("refs/whilly/p/T1/e1" in sentence for sentence in shop.said))
        assert shop.repository.branches() == {"main"}
        assert shop.journal.due() == []
        assert shop.repository.file("refs/whilly/p/T1/e1", "T1.txt") == "mine"


async def test_a_result_that_cannot_be_reported_is_kept_and_reported_later(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo x > T1.txt"}) as shop:
        shop.room.network.faults["finish"] = Fault.LOST_ANSWER
        await shop.room.submit(a_plan(a_task("T1"), checks=(a_check(command="true"),)), shop.repository.path)
        async with shop.working() as (stop, worker):
            await until(lambda: shop.room.network.seen.count("finish") >= 2)
            stop.set()
            assert (await worker).undelivered == 1
        assert len(shop.journal.due()) == 1
        shop.room.network.faults.clear()
        async with shop.working():
            await until(lambda: not shop.journal.due())
        assert (await shop.room.told("T1")).count("COMPLETE") == 1
