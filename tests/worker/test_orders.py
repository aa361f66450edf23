"""A cancel reaches the agent soon, whichever server it goes to, and idle workers ask for nothing."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.builders import a_plan, a_task
from tests.worker.network import Fault
from tests.worker.test_endings import STUBBORN, dead
from tests.worker.test_processes import pids_in, served, submitted, worker_process
from tests.worker.until import until
from tests.worker.workshop import workshop
from whilly.client.connect import in_process
from whilly.client.control_plane import ControlPlane
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.steer_task import cancel_task
from whilly.server.app import create_app
from whilly.store.database import Database
from whilly.wire.presence import OrdersRequest
from whilly.wire.work import ClaimRequest

WAITS = "touch {folder}/begun; while :; do sleep 0.1; done"


async def test_a_cancel_through_another_server_reaches_the_agent_within_two_seconds(
    database: Database, tmp_path: Path
) -> None:
    await submitted(database, tmp_path)
    async with (
        served(database, lease=60) as (url, token, room),
        worker_process(url, tmp_path, STUBBORN.format(folder=tmp_path), token),
    ):
        pids = await pids_in(tmp_path)
        asked = time.monotonic()
        # `served` runs a second control plane on this database; its sequencer or the first one's may tell of it.
        await cancel_task(database, "p", "T1", "ann")
        await until(lambda: dead(pids[0]), within=10)
        reached = time.monotonic() - asked

        async def ended() -> bool:
            return bool((await room.attempts("T1"))[0]["outcome"])

        await until(ended)
        assert (await room.attempts("T1"))[0]["outcome"] == "cancelled"
        # The agent ignores TERM for its grace of one second.
        assert reached < 3.0


async def test_a_cancel_reaches_the_agent_long_before_the_next_heartbeat(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WAITS.format(folder=tmp_path)}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        async with shop.working(heartbeat_seconds=15):
            await shop.appears_at_all(tmp_path / "begun")
            asked = time.monotonic()
            await cancel_task(database, "p", "T1", "ann")
            await shop.attempt_ended("T1")
            assert time.monotonic() - asked < 2
        assert (await shop.room.attempts("T1"))[0]["outcome"] == "cancelled"


async def test_a_cancel_arrives_with_a_heartbeat_where_no_orders_can_be_heard(
    database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": WAITS.format(folder=tmp_path)}) as shop:
        shop.room.network.faults["orders"] = Fault.CUT
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        async with shop.working(heartbeat_seconds=0.5):
            await shop.appears_at_all(tmp_path / "begun")
            await cancel_task(database, "p", "T1", "ann")
            await shop.attempt_ended("T1")


async def test_an_idle_worker_asks_for_no_orders(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo $TASK > $TASK.txt"}) as shop:
        async with shop.working():
            await until(lambda: "claim" in shop.room.network.passed)
            assert "orders" not in shop.room.network.seen
            await shop.room.submit(a_plan(a_task()), shop.repository.path)
            await shop.reached("T1", "DONE")
        assert shop.room.network.seen.count("orders") == 1


async def test_orders_are_only_about_ones_own_attempts_and_hold_no_connection(
    database: Database, tmp_path: Path
) -> None:
    await submitted(database, tmp_path)
    app = create_app(database)
    async with app.router.lifespan_context(app):
        clients = [
            in_process(app, (await issue_token(database, TokenKind.WORKER, worker=f"w{n}")).bearer) for n in range(40)
        ]
        planes = [ControlPlane(client) for client in clients]
        held = await planes[0].claim(ClaimRequest("c", "p", ("shell",)))
        assert held is not None
        waiting = [asyncio.create_task(plane.orders(OrdersRequest(0, (), 20))) for plane in planes]
        await until(lambda: len(app.state.engine.orders) == 40)
        await cancel_task(database, "p", "T1", "ann")
        found = await asyncio.wait_for(waiting[0], 3)
        assert found is not None
        assert found.cancel == (held.key,)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting[1]), 0.5)
        known = OrdersRequest(0, (held.key,), 0.3)
        assert await planes[0].orders(known) is None
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for client in clients:
            await client.aclose()
