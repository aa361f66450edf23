"""Bundles through the control plane: only from the attempt's own worker, only whole, and gone with what made them."""

import base64
import hashlib
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.builders import a_task
from tests.control_plane import Server, running_server
from whilly.client.control_plane import ControlPlane
from whilly.core.assignment import Assignment
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.operations.reset_plan import reset_plan
from whilly.operations.steer_task import cancel_task
from whilly.store.database import Database
from whilly.wire.bundles import PART_BYTES
from whilly.wire.work import ClaimRequest, Release

COMMIT = "a" * 40
DATA = bytes(range(256)) * 4000


@pytest.fixture
async def server(database: Database) -> AsyncIterator[Server]:
    async with running_server(database) as running:
        await running.store("p", a_task("A"))
        yield running


async def claim(worker: httpx2.AsyncClient, claim_id: str = "1") -> Assignment:
    found = await ControlPlane(worker).claim(ClaimRequest(claim_id, "p", ("claude",)))
    assert found
    return found


def path(epoch: int = 1) -> str:
    return f"/api/v1/plans/p/tasks/A/attempts/{epoch}/bundle"


def offer(data: bytes = DATA) -> dict[str, object]:
    return {"commit": COMMIT, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def part(number: int, data: bytes = DATA) -> dict[str, object]:
    piece = data[number * PART_BYTES : (number + 1) * PART_BYTES]
    return {"number": number, "data": base64.b64encode(piece).decode()}


async def send(worker: httpx2.AsyncClient, epoch: int = 1) -> None:
    assert (await worker.post(path(epoch), json=offer())).json()["missing"] == [0, 1]
    for number in (1, 0, 1):
        assert (await worker.post(f"{path(epoch)}/parts", json=part(number))).status_code == 204
    for _ in range(2):
        assert (await worker.post(path(epoch), json=offer())).json()["whole"]


async def fetched(client: httpx2.AsyncClient) -> bytes:
    told = (await client.get("/api/v1/plans/p/tasks/A/bundle")).json()
    parts = [
        (await client.get(f"/api/v1/plans/p/tasks/A/bundle/{told['epoch']}/parts/{number}")).json()
        for number in range(told["parts"])
    ]
    return b"".join(base64.b64decode(each["data"]) for each in parts)


async def test_a_bundle_comes_back_as_it_was_sent(server: Server) -> None:
    worker = await server.worker()
    await claim(worker)
    await send(worker)

    for reader in (await server.worker("other"), await server.operator()):
        assert await fetched(reader) == DATA


async def test_nobody_sees_a_bundle_that_is_not_whole(server: Server) -> None:
    worker = await server.worker()
    await claim(worker)
    await worker.post(path(), json=offer())
    await worker.post(f"{path()}/parts", json=part(0))

    reader = await server.operator()
    assert (await reader.get("/api/v1/plans/p/tasks/A/bundle")).status_code == 404
    assert (await reader.get("/api/v1/plans/p/tasks/A/bundle/1/parts/0")).status_code == 404


async def test_another_worker_and_a_person_may_not_send_one(server: Server) -> None:
    await claim(await server.worker())
    for stranger in (await server.worker("other"), await server.operator()):
        assert (await stranger.post(path(), json=offer())).status_code == 403
        assert (await stranger.post(f"{path()}/parts", json=part(0))).status_code == 403
    other_plan = await server.worker("w-1", plan="q")
    assert (await other_plan.post(path(), json=offer())).status_code == 403
    assert (await other_plan.get("/api/v1/plans/p/tasks/A/bundle")).status_code == 403


async def test_after_its_end_an_attempt_sends_nothing_more(server: Server) -> None:
    worker = await server.worker()
    assignment = await claim(worker)
    await worker.post(path(), json=offer())
    await ControlPlane(worker).release(assignment.key, Release("shutdown"))

    for answer in (
        await worker.post(path(), json=offer()),
        await worker.post(f"{path()}/parts", json=part(0)),
    ):
        assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (409, "lease_lost")


async def test_a_damaged_bundle_is_begun_anew(server: Server) -> None:
    worker = await server.worker()
    await claim(worker)
    await worker.post(path(), json=offer())
    await worker.post(f"{path()}/parts", json=part(0, bytes(len(DATA))))
    await worker.post(f"{path()}/parts", json=part(1))

    again = (await worker.post(path(), json=offer())).json()

    assert (again["missing"], again["whole"]) == ([0, 1], False)
    await send(worker)


async def test_another_offer_replaces_the_first(server: Server) -> None:
    worker = await server.worker()
    await claim(worker)
    await worker.post(path(), json=offer(b"short"))
    await worker.post(f"{path()}/parts", json=part(0, b"short"))
    await send(worker)
    assert await fetched(worker) == DATA


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"number": 7, "data": ""}, 409),
        ({"number": -1, "data": ""}, 409),
        ({"number": 0, "data": "AAAA"}, 409),
        ({"number": 0, "data": "no base64!"}, 422),
        ({"number": 2**40, "data": ""}, 409),
    ],
)
async def test_what_is_no_part_is_refused(server: Server, sent: dict[str, object], status: int) -> None:
    worker = await server.worker()
    await claim(worker)
    await worker.post(path(), json=offer())

    assert (await worker.post(f"{path()}/parts", json=sent)).status_code == status


async def test_a_part_without_an_offer_is_refused(server: Server) -> None:
    worker = await server.worker()
    await claim(worker)
    assert (await worker.post(f"{path()}/parts", json=part(0))).status_code == 409


@pytest.mark.parametrize(
    "change",
    [{"commit": "HEAD"}, {"sha256": "x" * 64}, {"sha256": "A" * 64}, {"commit": "a" * 41}],
)
async def test_what_is_no_offer_is_refused(server: Server, change: dict[str, object]) -> None:
    worker = await server.worker()
    await claim(worker)
    assert (await worker.post(path(), json={**offer(), **change})).status_code == 422


async def test_a_bundle_over_the_limit_is_refused_with_what_to_do(server: Server) -> None:
    server.app.state.largest_bundle = 1000
    worker = await server.worker()
    await claim(worker)

    for size in (1001, 0, -5):
        answer = await worker.post(path(), json={**offer(), "size": size})
        assert answer.status_code == 409
    assert "WHILLY_BUNDLE_LIMIT_MB" in answer.json()["detail"]


async def test_a_newer_attempt_replaces_the_bundle_and_a_reset_removes_it(server: Server) -> None:
    worker = await server.worker()
    for epoch in (1, 2):
        assignment = await claim(worker, str(epoch))
        await send(worker, epoch)
        await ControlPlane(worker).release(assignment.key, Release("shutdown"))
    async with server.database.connection() as connection:
        assert await connection.fetchval("select array_agg(epoch) from bundles") == [2]
    await reset_plan(server.database, "p", hard=False)
    async with server.database.connection() as connection:
        assert await connection.fetchval("select count(*) from bundle_parts") == 0


async def test_what_a_lost_attempt_sent_of_one_goes_with_the_next_offer(server: Server) -> None:
    worker = await server.worker()
    assignment = await claim(worker)
    await worker.post(path(), json=offer())
    await worker.post(f"{path()}/parts", json=part(0))
    await ControlPlane(worker).release(assignment.key, Release("shutdown"))
    await claim(worker, "2")
    await worker.post(path(2), json=offer(b"short"))

    async with server.database.connection() as connection:
        assert await connection.fetchval("select array_agg(epoch) from bundles") == [2]
        assert await connection.fetchval("select count(*) from bundle_parts") == 0


async def test_a_hard_reset_removes_it_too(server: Server) -> None:
    worker = await server.worker()
    assignment = await claim(worker)
    await send(worker)
    await ControlPlane(worker).finish(assignment.key, Report(Outcome.AGENT_FAILED))
    await cancel_task(server.database, "p", "A", "ada")
    await reset_plan(server.database, "p", hard=True)
    async with server.database.connection() as connection:
        assert await connection.fetchval("select count(*) from bundle_parts") == 0
