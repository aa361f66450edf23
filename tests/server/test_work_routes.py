"""A worker's day over the real routes."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest
from starlette.types import Message

from tests.control_plane import Server, eventually
from whilly.client.errors import LeaseLostRemotely, Rejected
from whilly.core.assignment import Assignment
from whilly.core.evidence import CheckResult, Report, Usage
from whilly.core.outcome import Outcome
from whilly.core.plan import Status, TaskSpec
from whilly.core.redaction import restored
from whilly.operations.claim_tasks import Ask, claim_tasks
from whilly.operations.read_attempts import task_detail, transcript
from whilly.operations.read_events import events_after
from whilly.operations.read_plans import list_plans
from whilly.server.claims import Claims
from whilly.store.database import Database
from whilly.wire.codec import encode
from whilly.wire.work import AttemptEvent, ClaimRequest, FinishAnswer, Heartbeat, Release, Start, TranscriptChunk

COMMIT = "c" * 40
AS_JSON = {"Content-Type": "application/json"}


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


async def test_an_earlier_attempt_is_not_the_present_one(server: Server) -> None:
    """The same worker has the task again: what it still says about its first attempt is refused, by the address."""
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    first = await plane.claim(ask("c-1"))
    assert first is not None
    await plane.release(first.key, Release("shutdown"))
    second = await plane.claim(ask("c-2"))
    assert second is not None
    with pytest.raises(LeaseLostRemotely):
        await plane.heartbeat(first.key, Heartbeat("agent"))
    assert (await plane.finish(second.key, done())).status is Status.DONE


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
    assert set(answer.json()) == {"type", "title", "status", "detail", "remedy", "errors"}
    assert "Traceback" not in answer.text


async def test_no_text_is_a_reason_to_lose_a_report(server: Server) -> None:
    """Postgres takes neither NUL nor half characters."""
    await server.store("p", TaskSpec("T-1", "One"))
    plane, http = await server.control_plane(), await server.worker()
    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    path = "/api/v1/plans/p/tasks/T-1/attempts/1"
    odd = "a\0b \ud83d and \\u0000 🚀"
    told: dict[str, object] = {
        "start": {"agent": odd, "model": odd},
        "heartbeat": {"phase": "agent", "last_line": odd},
        "events": [{"type": "agent.note", "payload": {odd: [odd]}, "detail": {"output": odd}}],
        "transcript": [{"number": 0, "text": odd}],
        "finish": {**json.loads(encode(done())), "summary": odd, "reason": odd, "session": odd, "kept_ref": odd},
    }
    for verb, body in told.items():
        answer = await http.post(f"{path}/{verb}", content=json.dumps(body), headers=AS_JSON)
        assert answer.is_success, f"{verb}: {answer.text}"

    stored = await transcript(server.database, "p", "T-1", 1)
    assert restored(stored) == odd
    assert "🚀" in stored


async def test_no_number_is_a_reason_to_lose_a_report(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    assignment = await plane.claim(ask("c-1"))
    assert assignment is not None
    check = CheckResult("unit", "run", True, True, 0xC0000005, COMMIT, duration_ms=10**30)
    usage = Usage(-5_000_000, input_tokens=10**30, output_tokens=-1)
    report = replace(done(), files_changed=2**40, exit_code=10**20, usage=usage, checks=(check,))

    await plane.heartbeat(assignment.key, Heartbeat("agent", usage=Usage(10**30)))
    assert (await plane.finish(assignment.key, report)).status is Status.DONE
    assert (await plane.finish(assignment.key, report)).status is Status.DONE
    (attempt,) = (await task_detail(server.database, "p", "T-1")).attempts
    assert attempt.usage == Usage(None, input_tokens=10**12)


async def test_reports_that_come_together_are_judged_each_for_itself(server: Server) -> None:
    await server.store("p", *(TaskSpec(f"T-{number}", "One") for number in range(1, 4)))
    plane = await server.control_plane()
    keys = []
    for number in range(3):
        assignment = await plane.claim(ask(f"c-{number}"))
        assert assignment is not None
        keys.append(assignment.key)
    # Stands for whatever no rule has thought of.
    async with server.database.connection() as connection:
        await connection.execute("alter table attempts add constraint unheard_of check (model <> 'unheard of')")
    reports = [done(), replace(done(), model="unheard of"), done()]

    answers = await asyncio.gather(
        *(plane.finish(key, report, within=0) for key, report in zip(keys, reports, strict=True)),
        return_exceptions=True,
    )

    assert [isinstance(answer, FinishAnswer) for answer in answers] == [True, False, True]


async def test_a_wait_that_is_no_number_is_no_wait(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.worker()
    body = '{"claim_id": "c-1", "plan": "nothing", "agents": ["scripted"], "wait_seconds": NaN}'
    answer = await http.post("/api/v1/claim", content=body, headers=AS_JSON)
    assert answer.status_code == 204


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


async def test_a_task_whose_client_leaves_while_it_is_handed_out_goes_back(server: Server) -> None:
    left = asyncio.Event()
    await server.store("p")
    submit = server.engine.claims.submit

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    async def late(item: Ask) -> Assignment | None:
        found = await submit(item)
        if found is not None:
            left.set()
            await asyncio.sleep(0)
        return found

    claims: Claims = server.app.state.claims
    with patch.object(server.engine.claims, "submit", late):
        waits = asyncio.create_task(claims.claim("w-1", ask("c-1", wait=20), receive))
        await _parked(server, 1)
        await server.store("p", TaskSpec("T-1", "One"))
        assert await waits is None
    await claims.settle()
    assert (await list_plans(server.database))[0].counts == {Status.PENDING: 1}


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


async def test_a_claim_whose_answer_was_lost_is_answered_again_although_there_is_nothing_else(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane, other = await server.control_plane(), await server.control_plane("w-2")
    lost = await plane.claim(ask("c-1"))
    await server.numbered()
    assert await other.claim(ask("c-2")) is None
    with patch.object(server.engine.wakeups, "look_again"):
        async with asyncio.timeout(5):
            again = await plane.claim(ask("c-1", wait=20))
    assert lost is not None
    assert again is not None
    assert again.key == lost.key


async def test_those_who_wait_again_ask_the_database_together(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    await server.store("p")
    planes = [await server.control_plane(f"w-{number}") for number in range(20)]
    assert await planes[0].claim(ask("c-0")) is None
    asked: list[int] = []

    async def counted(database: Database, asks: Sequence[Ask], lease: timedelta) -> list[Assignment | None]:
        asked.append(len(asks))
        return await claim_tasks(database, asks, lease)

    monkeypatch.setattr("whilly.server.engine.claim_tasks", counted)
    waits = (plane.claim(ask(f"c-{number}", wait=1.5)) for number, plane in enumerate(planes))
    assert await asyncio.gather(*waits) == [None] * 20
    assert len(asked) < 8
