"""A report reaches the control plane once, whatever happens on the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.builders import a_plan, a_report, a_task, running
from tests.worker.control_room import WORKER, ControlRoom, control_room
from tests.worker.network import Fault
from tests.worker.until import until
from whilly.core.assignment import Assignment
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.operations.sweep_leases import sweep_leases
from whilly.server.negotiation import check_protocol
from whilly.store.database import Database
from whilly.wire.protocol import RELEASES_SERVED, VERSION
from whilly.wire.work import FinishAnswer, TranscriptChunk
from whilly.worker.delivery import Delivery
from whilly.worker.interrupt import beside
from whilly.worker.journal import Entry, Journal

DONE = FinishAnswer(Status.DONE)


class Desk:
    """A worker's delivery, and what it said."""

    def __init__(self, room: ControlRoom, assignment: Assignment, state: Path) -> None:
        self.room = room
        self.assignment = assignment
        self.state = state
        self.said: list[str] = []
        self.delivery = self.after_a_restart()

    @property
    def journal(self) -> Journal:
        return Journal(self.state, "http://localhost")

    def after_a_restart(self) -> Delivery:
        return Delivery(self.room.control_plane, self.journal, self.said.append)

    def entry(self, kept_ref: str = "") -> Entry:
        return Entry(self.assignment.key, a_report(cost=1_200_000, kept_ref=kept_ref))


@asynccontextmanager
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with control_room(database) as room:
        await room.submit(a_plan(a_task("T1")))
        yield Desk(room, await running(database, worker=WORKER), tmp_path / "state")


async def test_it_is_written_down_before_it_is_sent(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        due_when_sent: list[int] = []
        at.room.network.on_request = lambda _: due_when_sent.append(len(at.journal.due()))
        assert await at.delivery.bring(at.entry(), 5) == DONE
        assert due_when_sent == [1]
        assert at.journal.due() == []


async def test_a_server_that_is_too_new_gets_it_after_the_upgrade(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        with pytest.MonkeyPatch.context() as years_later:
            newer = partial(check_protocol, version=VERSION + RELEASES_SERVED + 1)
            years_later.setattr("whilly.server.route.check_protocol", newer)
            assert await at.delivery.bring(at.entry(), 0) is None
            assert "more than two releases older" in at.said[0]
            assert len(at.journal.due()) == 1

        async with beside(at.after_a_restart().run()):
            await until(lambda: not at.journal.due())
        assert (await at.room.task("T1"))["status"] == "DONE"


@pytest.mark.parametrize(
    "fault", [Fault.CUT, Fault.ERROR, Fault.GATEWAY, Fault.LOST_ANSWER], ids=lambda each: each.name
)
async def test_an_outage_of_any_kind_delays_it_and_it_counts_once(
    database: Database, tmp_path: Path, fault: Fault
) -> None:
    async with desk(database, tmp_path) as at:
        at.room.network.faults["finish"] = fault
        assert await at.delivery.bring(at.entry(), 0.2) is None
        assert len(at.journal.due()) == 1
        async with beside(at.delivery.run()):
            tries = len(at.room.network.seen)
            await until(lambda: len(at.room.network.seen) >= tries + 2)
            at.room.network.faults.clear()
            await until(lambda: not at.journal.due())
        assert (await at.room.told("T1")).count("COMPLETE") == 1
        assert (await at.room.task("T1"))["spent_micros"] == 1_200_000


async def test_a_report_that_the_control_plane_fails_at_holds_up_no_other(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        await at.room.submit(a_plan(a_task("T1"), a_task("T2")))
        second = await running(database, worker=WORKER)
        async with database.connection() as connection:
            await connection.execute("alter table attempts add constraint no_fun check (model <> 'fun')")
        cursed = Entry(at.assignment.key, a_report(model="fun"))
        for entry in (cursed, Entry(second.key, a_report())):
            at.journal.keep(entry)
        async with beside(at.after_a_restart().run()):
            await until(lambda: [each.key for each in at.journal.due()] == [cursed.key])
        assert (await at.room.task("T2"))["status"] == "DONE"


async def test_it_arrives_after_a_restart_of_the_worker(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        at.room.network.faults["*"] = Fault.CUT
        assert await at.delivery.bring(at.entry(), 0.1) is None
        at.room.network.faults.clear()
        async with beside(at.after_a_restart().run()):
            await until(lambda: not at.journal.due())
        assert (await at.room.task("T1"))["status"] == "DONE"


async def test_it_arrives_after_the_worker_was_killed_while_it_waited_for_the_answer(
    database: Database, tmp_path: Path
) -> None:
    async with desk(database, tmp_path) as at:
        at.room.network.faults["finish"] = Fault.BLACK_HOLE
        bringing = asyncio.create_task(at.delivery.bring(at.entry(), 30))
        await until(lambda: "finish" in at.room.network.seen)
        bringing.cancel()
        at.room.network.faults.clear()
        async with beside(at.after_a_restart().run()):
            await until(lambda: not at.journal.due())
        assert (await at.room.told("T1")).count("COMPLETE") == 1


async def test_a_request_that_arrives_twice_has_one_effect(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        at.room.network.faults["finish"] = Fault.TWICE
        assert await at.delivery.bring(at.entry(), 5) == DONE
        assert (await at.room.told("T1")).count("COMPLETE") == 1


async def test_a_report_that_comes_too_late_is_settled_and_says_where_the_work_is(
    database: Database, tmp_path: Path
) -> None:
    async with desk(database, tmp_path) as at:
        async with database.connection() as connection:
            await connection.execute("update tasks set lease_until = clock_timestamp() - interval '1 second'")
        assert await sweep_leases(database) == 1
        assert await at.delivery.bring(at.entry(kept_ref="refs/whilly/p/T1/e1"), 5) is None
        assert at.journal.due() == []
        assert "refs/whilly/p/T1/e1" in at.said[0]
        assert (await at.room.task("T1"))["status"] == "PENDING"
        assert (await at.room.task("T1"))["spent_micros"] == 1_200_000, "the money was spent all the same"


async def test_a_second_and_different_report_is_set_aside(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        await at.delivery.bring(at.entry(), 5)
        assert await at.delivery.bring(Entry(at.assignment.key, a_report(Outcome.NO_CHANGES)), 5) is None
        assert at.journal.due() == []
        assert (await at.room.task("T1"))["status"] == "DONE"


async def test_a_worker_without_a_good_token_keeps_its_report(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        async with database.connection() as connection:
            await connection.execute("update tokens set revoked_at = clock_timestamp()")
        assert await at.delivery.bring(at.entry(), 0.2) is None
        assert len(at.journal.due()) == 1


async def test_without_a_disk_it_is_sent_all_the_same(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        at.state.write_text("a file where the folder should be", encoding="utf-8")
        assert await at.delivery.bring(at.entry(), 5) == DONE


async def test_the_end_of_the_transcript_goes_along(database: Database, tmp_path: Path) -> None:
    async with desk(database, tmp_path) as at:
        chunks = (TranscriptChunk(0, "first\n"), TranscriptChunk(1, "last words\n"))
        entry = Entry(at.assignment.key, at.entry().report, chunks)
        at.room.network.faults["*"] = Fault.CUT
        assert await at.delivery.bring(entry, 0.1) is None
        at.room.network.faults.clear()
        async with beside(at.after_a_restart().run()):
            await until(lambda: not at.journal.due())
        assert await at.room.transcript("T1") == "first\nlast words\n"


async def test_the_end_of_the_transcript_waits_with_a_report_that_a_token_is_not_good_for(
    database: Database, tmp_path: Path
) -> None:
    async with desk(database, tmp_path) as at:
        entry = Entry(at.assignment.key, at.entry().report, (TranscriptChunk(0, "last words\n"),))
        async with database.connection() as connection:
            await connection.execute("update tokens set expires_at = clock_timestamp()")
            assert await at.delivery.bring(entry, 0.1) is None
            await connection.execute("update tokens set expires_at = null")
        async with beside(at.after_a_restart().run()):
            await until(lambda: not at.journal.due())
        assert await at.room.transcript("T1") == "last words\n"
