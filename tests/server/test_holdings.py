"""No worker takes all tasks there are."""

import httpx2
import pytest

from tests.control_plane import Server
from whilly.core.assignment import AttemptKey
from whilly.core.plan import TaskSpec
from whilly.server import holdings
from whilly.server.holdings import Holdings
from whilly.wire.work import ClaimRequest


async def _claim(http: httpx2.AsyncClient, number: int) -> int:
    body = {"claim_id": f"c-{number}", "plan": "p", "agents": ["scripted"]}
    return (await http.post("/api/v1/claim", json=body)).status_code


async def test_a_worker_holds_so_many_tasks_and_no_more(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MOST_HELD", 2)
    await server.store("p", *(TaskSpec(f"T-{number}", "One") for number in range(4)))
    http = await server.worker()
    assert [await _claim(http, number) for number in range(3)] == [200, 200, 429]
    await server.app.state.claims.settle()
    other = await server.control_plane("w-2")
    assert await other.claim(ClaimRequest("c-9", "p", ("scripted",))) is not None

    released = await http.post("/api/v1/plans/p/tasks/T-0/attempts/1/release", json={"cause": "shutdown"})
    assert released.status_code == 200
    assert await _claim(http, 5) == 200


def test_what_fell_silent_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MOST_HELD", 2)
    now = [0.0]
    held = Holdings(60, lambda: now[0])
    keys = [AttemptKey("p", f"T-{number}", 1) for number in range(4)]
    assert [held.take("w", key) for key in keys[:3]] == [True, True, False]
    assert held.take("v", keys[2])
    now[0] = 50
    assert held.take("w", keys[0])
    now[0] = 70
    assert held.take("w", keys[3])
    assert not held.take("w", keys[2])
    held.end("w", keys[0])
    assert held.take("w", keys[2])
