"""Leases against the real control plane: kept, lost, and given up in time."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.builders import a_plan, a_task
from tests.worker.control_room import ControlRoom, control_room
from tests.worker.network import Fault
from tests.worker.until import until
from whilly.core.assignment import Assignment
from whilly.core.evidence import Usage
from whilly.core.money import from_usd
from whilly.operations.steer_task import cancel_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest, Start
from whilly.worker import clock
from whilly.worker.halt import Cause, Halt
from whilly.worker.heartbeat import Pulse
from whilly.worker.interrupt import beside

LEASE = 2.0


@asynccontextmanager
async def beating(
    database: Database, *, lease: float = LEASE, interval: float = 15, budget: int | None = None
) -> AsyncIterator[tuple[ControlRoom, Pulse, Halt]]:
    async with control_room(database, lease=lease) as room:
        await room.submit(a_plan(a_task("T1"), budget=budget))
        asked = clock.now()
        assignment = await room.control_plane.claim(ClaimRequest("c-1", "p", ("scripted",)))
        assert isinstance(assignment, Assignment)
        halt = Halt()
        pulse = Pulse(
            room.control_plane,
            assignment.key,
            halt,
            limit=assignment.limit,
            lease_seconds=lease,
            interval_seconds=interval,
            claimed_at=asked,
        )
        await room.control_plane.start(assignment.key, Start("scripted"))
        async with beside(pulse.keep()):
            yield room, pulse, halt


async def test_work_that_lasts_longer_than_its_lease_keeps_it(database: Database) -> None:
    async with beating(database) as (room, pulse, halt):
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 2.5 * LEASE)
        assert not halt.is_set()
        assert pulse.holds()
        assert (await room.task("T1"))["epoch"] == 1
        assert (await room.task("T1"))["status"] == "IN_PROGRESS"


async def test_phase_line_and_usage_reach_the_control_plane(database: Database) -> None:
    async with beating(database, interval=0.05) as (room, pulse, _):
        pulse.phase, pulse.last_line = "agent", "editing login.py"
        beats = room.network.passed.count("heartbeat")
        await until(lambda: room.network.passed.count("heartbeat") >= beats + 2)
        (attempt,) = await room.attempts("T1")
        assert (attempt["phase"], attempt["last_line"]) == ("agent", "editing login.py")


async def test_a_cancel_reaches_the_attempt_within_its_interval(database: Database) -> None:
    async with beating(database, lease=60, interval=1) as (_, _pulse, halt):
        await cancel_task(database, "p", "T1", "ann")
        asked = time.monotonic()
        await until(halt.is_set)
        assert time.monotonic() - asked < 2
        assert halt.cause is Cause.CANCELLED


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.BLACK_HOLE, Fault.GATEWAY], ids=lambda fault: fault.name)
async def test_without_answers_it_gives_up_before_the_lease_ends(database: Database, fault: Fault) -> None:
    async with beating(database) as (room, pulse, halt):
        await until(lambda: "heartbeat" in room.network.passed)
        room.network.faults["heartbeat"] = fault
        cut = time.monotonic()
        await until(halt.is_set)
        assert halt.cause is Cause.OUT_OF_CONTACT
        assert not pulse.holds()
        assert time.monotonic() - cut <= LEASE * 2 / 3 + 0.3
        assert (await room.task("T1"))["epoch"] == 1, "nobody else had it yet"


async def test_a_short_outage_is_survived(database: Database) -> None:
    async with beating(database) as (room, _, halt):
        await until(lambda: "heartbeat" in room.network.passed)
        room.network.faults["heartbeat"] = Fault.CUT
        refused = room.network.seen.count("heartbeat")
        await until(lambda: room.network.seen.count("heartbeat") >= refused + 2)
        del room.network.faults["heartbeat"]
        taken = room.network.passed.count("heartbeat")
        await until(lambda: room.network.passed.count("heartbeat") >= taken + 3)
        assert not halt.is_set()


async def test_an_answer_that_is_lost_renews_nothing_as_far_as_the_worker_knows(database: Database) -> None:
    async with beating(database) as (room, _, halt):
        room.network.faults["heartbeat"] = Fault.LOST_ANSWER
        await until(halt.is_set)
        assert halt.cause is Cause.OUT_OF_CONTACT


async def test_a_lease_that_was_given_away_is_noticed_at_the_next_heartbeat(database: Database) -> None:
    async with beating(database, lease=60, interval=0.2) as (_, pulse, halt):
        async with database.connection() as connection:
            await connection.execute("update tasks set lease_until = clock_timestamp() - interval '1 second'")
        assert await sweep_leases(database) == 1
        await until(halt.is_set)
        assert halt.cause is Cause.LEASE_LOST
        assert not pulse.holds()


async def test_a_worker_that_slept_gives_up_when_it_wakes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with beating(database, lease=60, interval=15) as (_, pulse, halt):
        real = clock.now
        monkeypatch.setattr(clock, "now", lambda: real() + 3600)
        await until(halt.is_set)
        assert halt.cause is Cause.OUT_OF_CONTACT
        assert not pulse.holds()


async def test_the_wall_clock_has_no_say(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with beating(database, interval=0.1) as (room, _, halt):
        real = time.time
        passed = room.network.passed
        for jump in (3600, -3600, 86_400 * 365):
            monkeypatch.setattr(time, "time", partial(lambda jump: real() + jump, jump))
            enough = len(passed) + 3
            await until(partial(lambda enough: len(passed) >= enough, enough))
        assert not halt.is_set()


async def test_a_claim_that_waited_long_beats_at_once(database: Database) -> None:
    async with control_room(database) as room:
        await room.submit(a_plan(a_task("T1")))
        assignment = await room.control_plane.claim(ClaimRequest("c-1", "p", ("scripted",)))
        assert assignment is not None
        halt = Halt()
        pulse = Pulse(
            room.control_plane,
            assignment.key,
            halt,
            limit=None,
            lease_seconds=60,
            interval_seconds=15,
            claimed_at=clock.now() - 45,
        )
        async with beside(pulse.keep()):
            await until(lambda: "heartbeat" in room.network.passed, within=2)
            await until(pulse.holds)
        assert not halt.is_set()


async def test_a_limit_is_raised_while_the_plans_budget_allows_and_not_beyond(database: Database) -> None:
    async with beating(database, lease=60, budget=from_usd("1.20")) as (_, pulse, halt):
        for cents in range(10, 120, 10):
            await pulse.meter.used(Usage(from_usd(cents / 100)))
            assert not halt.is_set(), f"stopped at {cents} cents of 120"
        await pulse.meter.used(Usage(from_usd("1.20")))
        assert halt.cause is Cause.OVER_BUDGET
