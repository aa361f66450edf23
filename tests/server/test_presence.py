"""Who may work under an identity, over the routes."""

import pytest

from tests.builders import a_task
from tests.control_plane import Server, running_server
from whilly.client.connect import in_process
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Rejected
from whilly.server.auth import GivenBearers
from whilly.store.database import Database
from whilly.wire.presence import Farewell, Presence
from whilly.wire.work import ClaimRequest


def ask(number: int, session: int = 0) -> ClaimRequest:
    return ClaimRequest(f"c-{number}", "p", ("scripted",), session=session)


async def test_a_second_process_is_told_which_problem_it_is(server: Server) -> None:
    first, second = await server.control_plane("w-1"), await server.control_plane("w-1")
    admission = await first.introduce(Presence("one", "host", {"scripted": "1"}))
    assert (admission.worker, admission.session) == ("w-1", 1)
    with pytest.raises(Rejected) as refused:
        await second.introduce(Presence("two", "host"))
    assert refused.value.kind == "identity_in_use"
    await first.farewell(Farewell(1))
    assert (await second.introduce(Presence("two", "host"))).session == 2


async def test_the_first_process_is_told_that_its_place_was_taken(server: Server) -> None:
    await server.store("p", a_task())
    first, second = await server.control_plane("w-1"), await server.control_plane("w-1")
    await first.introduce(Presence("one", "host"))
    await second.introduce(Presence("two", "host", take_over=True))
    with pytest.raises(Rejected) as refused:
        await first.claim(ask(1, session=1))
    assert refused.value.kind == "superseded"
    assert await second.claim(ask(2, session=2)) is not None


async def test_a_drained_worker_waits_and_works_again(server: Server) -> None:
    await server.store("p", a_task())
    plane, operator = await server.control_plane("w-1"), await server.operator()
    await plane.introduce(Presence("one", "host"))
    assert (await operator.post("/api/v1/workers/w-1/drain")).status_code == 204
    assert await plane.claim(ask(1, session=1)) is None
    assert (await plane.introduce(Presence("one", "host", session=1))).draining
    assert (await operator.post("/api/v1/workers/w-1/resume")).status_code == 204
    assert await plane.claim(ask(2, session=1)) is not None
    assert (await operator.post("/api/v1/workers/nobody/drain")).status_code == 404


async def test_those_who_share_the_older_bearer_work_side_by_side(database: Database) -> None:
    bearer = "s" * 40
    async with running_server(database, bearers=GivenBearers(shared=bearer)) as server:
        await server.store("p", a_task("A"), a_task("B"))
        planes = [ControlPlane(in_process(server.app, bearer)) for _ in range(2)]
        for number, plane in enumerate(planes):
            admission = await plane.introduce(Presence(str(number), f"host-{number}"))
            assert admission.session == 0
        for number, plane in enumerate(planes):
            assert await plane.claim(ask(number)) is not None
