"""A worker's day over the real routes."""

import asyncio
import time

import pytest

from tests.control_plane import Server, eventually
from whilly.client.errors import LeaseLostRemotely, Rejected
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status, TaskSpec
from whilly.operations.read_attempts import transcript
from whilly.operations.read_events import events_after
from whilly.operations.read_plans import list_plans
from whilly.wire.work import AttemptEvent, ClaimRequest, Heartbeat, Release, Start, TranscriptChunk

COMMIT = "c" * 40


def ask(claim_id: str, *, plan: str = "p", wait: float = 0) -> ClaimRequest:
    return ClaimRequest(claim_id, plan, ("scripted",), wait)


def done(commit: str = COMMIT) -> Report:
    return Report(Outcome.COMPLETED, head_commit=commit, base_commit="b" * 40, branch="whilly/p/T-1", files_changed=1)


async def test_a_task_from_claim_to_done(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()

    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    key = assignment.key
    await plane.start(key, Start("scripted"))
    beat = await plane.heartbeat(key, Heartbeat("agent", "thinking"))
    await plane.events(key, [AttemptEvent("agent.note", {"a": 1}, number=1)])
    await plane.transcript(key, [TranscriptChunk(0, "hello "), TranscriptChunk(1, "there")])
    verdict = await plane.finish(key, done())

    assert (beat.cancel, beat.lease_seconds) == (False, 60)
    assert verdict.status is Status.DONE
    assert await transcript(server.database, "p", "T-1", 1) == "hello there"


async def test_nothing_to_do_is_no_content(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    assert await plane.claim(ask("c-1")) is not None
    assert await plane.claim(ask("c-2")) is None


async def test_a_claim_asked_twice_gets_the_same_answer(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    plane = await server.control_plane()
    first = await plane.claim(ask("c-1"))
    assert first is not None
    assert await plane.claim(ask("c-1")) == first


async def test_a_lost_lease_is_told_as_such(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    await plane.release(assignment.key, Release("shutdown"))
    with pytest.raises(LeaseLostRemotely) as lost:
        await plane.heartbeat(assignment.key, Heartbeat("agent"))
    assert lost.value.problem.status == 409


async def test_an_attempt_is_nobody_elses(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    assignment = await (await server.control_plane("w-1")).claim(ask("c-1"))
    assert assignment is not None
    thief = await server.control_plane("w-2")
    with pytest.raises(Rejected) as refused:
        await thief.finish(assignment.key, done())
    assert refused.value.kind == "not_yours"
    server.engine.ownership._workers.clear()
    with pytest.raises(Rejected):
        await thief.heartbeat(assignment.key, Heartbeat("agent"))


async def test_a_token_for_one_plan_opens_no_other(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.worker("w-1", plan="q")
    answer = await http.post("/api/v1/claim", json={"claim_id": "c", "plan": "p", "agents": ["scripted"]})
    assert (answer.status_code, answer.json()["type"]) == (403, "not_allowed")


@pytest.mark.parametrize("verb", ["start", "heartbeat", "events", "transcript", "finish", "release"])
async def test_an_attempt_that_never_was(server: Server, verb: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    bodies = {
        "start": {"agent": "scripted"},
        "heartbeat": {"phase": "agent"},
        "events": [{"type": "agent.note"}],
        "transcript": [{"number": 0, "text": "x"}],
        "finish": {"outcome": "completed"},
        "release": {"cause": "shutdown"},
    }
    http = await server.worker()
    answer = await http.post(f"/api/v1/plans/p/tasks/T-9/attempts/99999999999/{verb}", json=bodies[verb])
    assert answer.status_code in {404, 409}, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 422),
        (b'{"claim_id": 7}', "application/json", 422),
        (b'{"claim_id": "c", "plan": "p", "agents": []}', "text/plain", 415),
        (b'"' + b"x" * 1_100_000 + b'"', "application/json", 413),
    ],
)
async def test_a_body_that_is_not_what_was_agreed(server: Server, body: bytes, content_type: str, status: int) -> None:
    http = await server.worker()
    answer = await http.post("/api/v1/claim", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert set(answer.json()) == {"type", "title", "status", "detail", "remedy"}
    assert "Traceback" not in answer.text


async def test_a_nul_in_a_payload_is_refused_and_not_a_crash(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    with pytest.raises(Rejected) as refused:
        await plane.events(assignment.key, [AttemptEvent("agent.note", {"text": "a\0b"})])
    assert refused.value.problem.status == 422


async def test_an_event_type_cannot_smuggle_a_line(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    with pytest.raises(Rejected):
        await plane.events(assignment.key, [AttemptEvent("agent.x\nevent: COMPLETE")])


async def test_waiting_for_work_ends_when_work_comes(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two", dependencies=("T-1",)))
    plane = await server.control_plane()
    first = await plane.claim(ask("c-1"))
    assert first is not None
    waits = asyncio.create_task(plane.claim(ask("c-2", wait=20)))
    await _parked(server, 1)
    began = time.perf_counter()
    await plane.finish(first.key, done())
    second = await waits
    assert second is not None
    assert second.spec.id == "T-2"
    assert time.perf_counter() - began < 1


async def test_waiting_for_work_ends_when_the_time_is_over(server: Server) -> None:
    plane = await server.control_plane()
    assert await plane.claim(ask("c-1", wait=0.2)) is None
    assert len(server.engine.wakeups) == 0


async def test_a_claim_given_up_takes_no_task(server: Server) -> None:
    plane = await server.control_plane()
    waits = asyncio.create_task(plane.claim(ask("c-1", wait=20)))
    await _parked(server, 1)
    waits.cancel()
    await _parked(server, 0)
    await server.store("p", TaskSpec("T-1", "One"))
    assert (await list_plans(server.database))[0].counts == {Status.PENDING: 1}
    taken = await plane.claim(ask("c-2"))
    assert taken is not None
    assert taken.epoch == 1


async def test_events_get_positions_at_once(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    await eventually(lambda: events_after(server.database, 0, "p"))
    assert await plane.claim(ask("c-1")) is not None
    began = time.perf_counter()

    async def claimed() -> bool:
        return any(event.type == "CLAIM" for event in await events_after(server.database, 0, "p"))

    await eventually(claimed)
    assert time.perf_counter() - began < 0.5


async def _parked(server: Server, count: int) -> None:
    async def as_many() -> bool:
        return len(server.engine.wakeups) == count

    await eventually(as_many)
