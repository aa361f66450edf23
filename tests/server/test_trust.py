"""What a worker that was taken over may do, and what not: the promise of `docs/explanation/trust.md`."""

import pytest

from tests.control_plane import Server
from whilly.client.connect import in_process
from whilly.core.assignment import AttemptKey
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.read_events import events_after
from whilly.wire.work import ClaimRequest, Release

FORGED = (
    "plan.budget_exceeded",
    "plan.created",
    "human_review.approved",
    "repair.escalated",
    "token.issued",
    "worker.revoked",
    "task.created",
    "system.paused",
    "COMPLETE",
)


async def held(server: Server, worker: str, task: str) -> AttemptKey:
    control_plane = await server.control_plane(worker)
    got = await control_plane.claim(ClaimRequest(f"c-{worker}", "p", ("scripted",)))
    assert got is not None
    assert got.key.task == task
    return got.key


def address(key: AttemptKey, verb: str) -> str:
    return f"/api/v1/plans/{key.plan}/tasks/{key.task}/attempts/{key.epoch}/{verb}"


@pytest.mark.parametrize("kind", FORGED)
async def test_it_writes_no_event_of_anybody_else(server: Server, kind: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    key = await held(server, "w-1", "T-1")
    async with await server.worker("w-1") as http:
        answer = await http.post(address(key, "events"), json=[{"type": kind}])
    assert answer.status_code == 409
    await server.numbered()
    own = [event.type for event in await events_after(server.database, 0, "p", 100)]
    assert own.count(kind) == (1 if kind in ("plan.created", "task.created") else 0)


async def test_what_it_tells_is_about_its_own_attempt_and_at_the_time_of_the_database(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    await server.store("q", TaskSpec("T-1", "One"))
    key = await held(server, "w-1", "T-1")
    lies = {"plan_id": "q", "task_id": "T-9", "epoch": 99}
    async with await server.worker("w-1") as http:
        event = {"type": "llm.said", "payload": lies, "at": "2001-01-01T00:00:00Z", "position": 1, "plan": "q"}
        answer = await http.post(address(key, "events"), json=[event])
    assert answer.status_code in (204, 422)
    await server.numbered()
    told = [event for event in await events_after(server.database, 0, None, 100) if event.type == "llm.said"]
    for event_told in told:
        assert (event_told.plan, event_told.task, event_told.at.year > 2001) == ("p", "T-1", True)
        assert event_told.payload == {"plan_id": "p", "task_id": "T-1", "epoch": 1}


@pytest.mark.parametrize("verb", ["start", "heartbeat", "events", "transcript", "finish", "release"])
async def test_it_touches_no_attempt_of_another_worker(server: Server, verb: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    await held(server, "w-1", "T-1")
    other = await held(server, "w-2", "T-2")
    async with await server.worker("w-1") as http:
        assert (await http.post(address(other, verb), json={})).status_code == 403


async def test_an_attempt_that_is_over_takes_no_report_and_no_event(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    key = await held(server, "w-1", "T-1")
    control_plane = await server.control_plane("w-1")
    await control_plane.release(key, Release("shutdown"))
    assert (await held(server, "w-2", "T-1")).epoch == 2
    async with await server.worker("w-1") as http:
        report = {"outcome": Outcome.COMPLETED.value, "head_commit": "a" * 40, "files_changed": 1}
        assert (await http.post(address(key, "finish"), json=report)).status_code == 409
        assert (await http.post(address(key, "events"), json=[{"type": "llm.said"}])).status_code == 409
        guessed = AttemptKey("p", "T-1", 2)
        assert (await http.post(address(guessed, "finish"), json=report)).status_code == 403


async def test_its_word_alone_makes_nothing_done(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    key = await held(server, "w-1", "T-1")
    control_plane = await server.control_plane("w-1")
    answer = await control_plane.finish(key, Report(Outcome.COMPLETED, summary="It is done, believe me."))
    assert answer.status.value != "DONE"


async def test_its_identity_is_that_of_its_bearer_whatever_it_says(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    issued = await issue_token(server.database, TokenKind.WORKER, worker="w-7", plan="p")
    async with in_process(server.app, issued.bearer) as http:
        said = {"incarnation": "i", "hostname": "h", "worker": "w-1", "worker_id": "w-1", "plan_id": "q"}
        answer = await http.post("/api/v1/presence", json=said)
        assert answer.status_code in (200, 422)
        body = {"claim_id": "c", "plan": "p", "agents": ["scripted"], "worker": "w-1", "worker_id": "w-1"}
        await http.post("/api/v1/claim", json=body)
    rows = await server.database.fetch("attempts_held_by", ["w-1", "w-7"])
    assert {row["worker_id"] for row in rows} == {"w-7"}
