"""Requests that fail, get lost or come twice change nothing about what happened."""

import asyncio
import random
import time
from pathlib import Path

import pytest

from tests.builders import a_check, a_plan, a_task
from tests.worker.network import Fault
from tests.worker.test_endings import STUBBORN, dead
from tests.worker.workshop import workshop
from whilly.store.database import Database

STORY = [
    "CLAIM",
    "workspace.prepared",
    "START",
    "llm.run_started",
    "llm.run_finished",
    "verification.started",
    "verification.succeeded",
    "COMPLETE",
]


async def test_requests_that_arrive_twice_have_one_effect(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo $TASK > $TASK.txt; echo hello"}) as shop:
        shop.room.network.faults["*"] = Fault.TWICE
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="true"),)))
        assert [kind for kind in await shop.room.told("T1") if kind in STORY] == STORY
        assert await shop.room.transcript("T1") == "hello\n"


async def test_a_network_that_fails_every_other_time_loses_and_doubles_nothing(
    database: Database, tmp_path: Path
) -> None:
    chance = random.Random(8)
    faults = (Fault.CUT, Fault.LOST_ANSWER, Fault.ERROR, Fault.GATEWAY, Fault.TWICE, None, None, None, None, None)
    async with workshop(database, tmp_path, {"*": "echo $TASK > $TASK.txt; echo hello"}) as shop:
        shop.room.network.draw = lambda: chance.choice(faults)
        tasks = [a_task(f"T{number}") for number in range(6)]
        await shop.work(a_plan(*tasks, checks=(a_check(command="true"),)), slots=3)
        for task in tasks:
            told = [kind for kind in await shop.room.told(task.id) if kind in STORY]
            assert sorted(told) == sorted(STORY)
            assert (await shop.room.task(task.id))["status"] == "DONE"
            assert await shop.room.transcript(task.id) == "hello\n"
        assert shop.journal.due() == []


@pytest.mark.parametrize("fault", [Fault.BLACK_HOLE, Fault.CUT])
async def test_a_worker_ends_within_ten_seconds_also_when_nobody_answers(
    database: Database, tmp_path: Path, fault: Fault
) -> None:
    async with workshop(database, tmp_path, {"*": STUBBORN.format(folder=tmp_path)}) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working() as (stop, worker):
            pids = [await shop.appears(tmp_path / name) for name in ("agent", "daemon")]
            shop.room.network.faults["*"] = fault
            asked = time.monotonic()
            stop.set()
            worked = await asyncio.wait_for(worker, 20)
            took = time.monotonic() - asked
        assert dead(*pids)
        assert worked.undelivered == 1
        assert took < 10
        # The next process brings it, and the attempt does not count.
        shop.room.network.faults.clear()
        (tmp_path / "agent").unlink()
        async with shop.working():
            await shop.attempt_ended("T1")
        assert (await shop.room.attempts("T1"))[0]["outcome"] == "released"
