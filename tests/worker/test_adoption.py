"""A worker that starts again goes on with what its last process had under way, and never waits for a lease to end."""

import asyncio
from pathlib import Path

from tests.builders import a_plan, a_task
from tests.worker.network import Fault
from tests.worker.until import until
from tests.worker.workshop import Workshop, workshop
from whilly.core.plan import Status
from whilly.store.database import Database
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop
from whilly.worker.unfinished import Unfinished

WRITES = "echo $TASK > $TASK.txt"
WAITS = "touch {folder}/begun; while :; do sleep 0.1; done"


async def killed_when(shop: Workshop, verb: str) -> None:
    """Let a worker die in the moment in which a request of this kind is on its way."""
    reached = asyncio.Event()
    shop.room.network.on_request = lambda seen: reached.set() if seen == verb else None
    worker = asyncio.create_task(Worker(shop.equipment).run(Stop()))
    await asyncio.wait_for(reached.wait(), 20)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    shop.room.network.on_request = lambda _: None


async def test_a_claim_whose_answer_was_lost_with_the_process_is_worked_on_by_the_next(
    database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        shop.room.network.faults["claim"] = Fault.LOST_ANSWER
        worker = asyncio.create_task(Worker(shop.equipment).run(Stop()))
        await shop.reached("T1", "CLAIMED")
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        shop.room.network.faults.clear()
        async with shop.working():
            await shop.reached("T1", "DONE")
        assert [each["epoch"] for each in await shop.room.attempts("T1")] == [1]


async def test_a_result_that_was_ready_is_delivered_by_the_next_process(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        shop.room.network.faults["finish"] = Fault.CUT
        await killed_when(shop, "finish")
        assert len(shop.journal.due()) == 1
        shop.room.network.faults.clear()
        async with shop.working():
            await shop.reached("T1", "DONE")
            await until(lambda: not shop.journal.due())
        assert [each["outcome"] for each in await shop.room.attempts("T1")] == ["completed"]


async def test_a_result_is_on_disk_before_its_events_are_sent(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        shop.room.network.faults["events"] = Fault.BLACK_HOLE
        shop.room.network.faults["finish"] = Fault.BLACK_HOLE
        worker = asyncio.create_task(Worker(shop.equipment).run(Stop()))
        await until(shop.journal.due)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        shop.room.network.faults.clear()
        async with shop.working():
            await shop.reached("T1", "DONE")


async def test_an_attempt_that_died_twice_the_same_way_is_counted(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WAITS.format(folder=tmp_path)}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        for _ in range(2):
            (tmp_path / "begun").unlink(missing_ok=True)
            await died_at_work(shop, tmp_path)
        async with shop.working():
            await shop.attempt_ended("T1", 2)
        task = await shop.room.task("T1")
        assert [each["outcome"] for each in await shop.room.attempts("T1")][:2] == ["released", "lost_worker"]
        assert task["parked_until"] is not None


async def died_at_work(shop: Workshop, tmp_path: Path) -> None:
    worker = asyncio.create_task(Worker(shop.equipment).run(Stop()))
    await shop.appears_at_all(tmp_path / "begun")
    notes = Unfinished(shop.journal.folder)
    (note,) = notes.left()
    shop.room.network.faults["*"] = Fault.CUT
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    shop.room.network.faults.clear()
    assert (await shop.room.task("T1"))["status"] == Status.IN_PROGRESS
    assert notes.left() == [note]


async def test_an_outage_longer_than_many_leases_is_told_twice_and_loses_nothing(
    database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": f"touch {tmp_path}/begun; sleep 0.3; {WRITES}"}, lease=1) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        async with shop.working(heartbeat_seconds=0.2, claim_wait_seconds=0.2):
            await shop.reached("T1", "DONE")
            shop.room.network.faults["*"] = Fault.CUT
            asked = shop.room.network.seen.count("claim")
            await until(lambda: shop.room.network.seen.count("claim") > asked + 5)
            await shop.room.submit(a_plan(a_task(), a_task("T2")), shop.repository.path)
            shop.room.network.faults.clear()
            await shop.reached("T2", "DONE")
        gone, back = shop.said
        assert "gave no usable answer" in gone
        assert back == "The control plane answers again."
