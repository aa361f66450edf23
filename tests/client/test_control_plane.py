import json
import socket
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.client.scripted_server import Answer, Hangs, Resets, Says, ScriptedServer, problem, serving
from whilly.client.back_off import BackOff
from whilly.client.connect import in_process, over_network
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import LeaseLostRemotely, Rejected, Unreachable
from whilly.core.assignment import AttemptKey
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.wire.work import AttemptEvent, ClaimRequest, FinishAnswer, Heartbeat, Start, TranscriptChunk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KEY = AttemptKey("payments", "T-1", 3)
REPORT = Report(Outcome.COMPLETED, head_commit="c" * 40)
DONE = Says(200, b'{"status": "DONE", "reason": ""}')
HTML = Says(502, b"<html><h1>Bad gateway</h1></html>", "text/html")
BEAT = Says(200, b'{"lease_seconds": 60, "cancel": true, "limit": 500000, "added_by_a_newer_server": [1]}')


def asking(answers: Sequence[Answer]) -> AbstractAsyncContextManager[tuple[ScriptedServer, ControlPlane]]:
    @asynccontextmanager
    async def opened() -> "AsyncIterator[tuple[ScriptedServer, ControlPlane]]":
        async with serving(answers) as server, over_network(server.url, "whl_wk_secret") as http:
            yield server, ControlPlane(http, back_off=BackOff(0.001, 0.01), try_seconds=5)

    return opened()


async def test_a_report_arrives_with_token_and_protocol_version() -> None:
    async with asking([DONE]) as (server, control_plane):
        assert await control_plane.finish(KEY, REPORT) == FinishAnswer(Status.DONE)
    path, headers, body = server.requests[0]
    assert path == "/api/v1/plans/payments/tasks/T-1/attempts/3/finish"
    assert headers["authorization"] == "Bearer whl_wk_secret"
    assert headers["whilly-protocol"] == "1"
    assert json.loads(body)["head_commit"] == "c" * 40


@pytest.mark.parametrize(
    "fault",
    [
        HTML,
        Resets(),
        Says(500, b"oops", "text/plain"),
        problem(503, "overloaded"),
        Says(404, b"<html>no such route</html>", "text/html"),
        Says(200, b"<html>sign in to the hotel's network</html>", "text/html"),
        Says(200, b'{"status": "NO_SUCH_STATUS"}'),
        Says(301, b"", headers=(("Location", "http://elsewhere.example/"),)),
        problem(429, "too_many"),
    ],
    ids=["502 page", "reset", "500", "503", "404 page", "portal", "nonsense", "redirect", "429"],
)
async def test_a_report_is_sent_again_until_it_gets_a_real_answer(fault: Answer) -> None:
    async with asking([fault, fault, DONE]) as (server, control_plane):
        assert (await control_plane.finish(KEY, REPORT)).status is Status.DONE
    assert len({body for _, _, body in server.requests}) == 1
    assert len(server.requests) == 3


async def test_giving_up_says_what_was_wrong_last() -> None:
    async with asking([HTML]) as (_, control_plane):
        with pytest.raises(Unreachable, match=r"no usable answer to 'finish': it answered 502\.$"):
            await control_plane.finish(KEY, REPORT, within=0.02)


async def test_an_answer_that_does_not_come_is_given_up_in_time() -> None:
    async with serving([Hangs()]) as server, over_network(server.url, "") as http:
        with pytest.raises(Unreachable, match=r"none within 0\.05 s"):
            await ControlPlane(http, try_seconds=0.05).heartbeat(KEY, Heartbeat("agent"))


async def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with over_network(f"http://127.0.0.1:{taken.getsockname()[1]}", "") as http:
            with pytest.raises(Unreachable):
                await ControlPlane(http).claim(ClaimRequest("c-1", "payments", ("scripted",)))


async def test_a_lost_lease_is_not_asked_again() -> None:
    async with asking([problem(409, "lease_lost", "Attempt 3 of task T-1 is over.")]) as (server, control_plane):
        with pytest.raises(LeaseLostRemotely, match="is over"):
            await control_plane.start(KEY, Start("scripted"))
    assert len(server.requests) == 1


async def test_another_refusal_carries_its_name_and_its_remedy() -> None:
    refusal = problem(404, "https://whilly.example/problems/unknown_plan", "No plan.", "Import it.")
    async with asking([refusal]) as (_, control_plane):
        with pytest.raises(Rejected, match=r"^No plan\. Import it\.$") as caught:
            await control_plane.claim(ClaimRequest("c-1", "payments", ("scripted",)))
    assert caught.value.kind == "unknown_plan"
    assert not isinstance(caught.value, LeaseLostRemotely)


async def test_nothing_to_do_is_none() -> None:
    async with asking([Says(204)]) as (_, control_plane):
        assert await control_plane.claim(ClaimRequest("c-1", "payments", ("scripted",))) is None


async def test_an_assignment_arrives_and_its_unknown_fields_do_not_matter() -> None:
    assignment = {
        "plan": "payments",
        "project": "Payments",
        "spec": {"id": "T-1", "description": "Refund", "priority": 1, "colour": "red"},
        "epoch": 3,
        "claim_id": "c-1",
        "lease_seconds": 60,
        "checks": [{"name": "tests", "command": "true"}],
        "agent": "",
        "timeout_minutes": None,
        "limit": 250_000,
        "invented_later": {"a": 1},
    }
    async with asking([Says(200, json.dumps(assignment).encode())]) as (_, control_plane):
        claimed = await control_plane.claim(ClaimRequest("c-1", "payments", ("scripted",)))
    assert claimed is not None
    assert claimed.key == KEY
    assert claimed.checks[0].required


async def test_a_heartbeat_brings_back_what_is_wanted() -> None:
    async with asking([BEAT]) as (_, control_plane):
        answer = await control_plane.heartbeat(KEY, Heartbeat("agent", "editing login.py"))
    assert (answer.lease_seconds, answer.cancel, answer.limit) == (60, True, 500_000)


async def test_events_and_transcript_are_lists() -> None:
    async with asking([Says(204)]) as (server, control_plane):
        await control_plane.events(KEY, [AttemptEvent("verification.started", {"task_id": "T-1"})])
        await control_plane.transcript(KEY, [TranscriptChunk(0, "héllo")])
    assert json.loads(server.requests[0][2])[0]["type"] == "verification.started"
    assert json.loads(server.requests[1][2]) == [{"number": 0, "text": "héllo"}]


async def test_a_page_with_status_200_is_no_agreement_to_start() -> None:
    async with asking([Says(200, b"<html>sign in</html>", "text/html"), Says(204)]) as (server, control_plane):
        await control_plane.start(KEY, Start("scripted"))
    assert len(server.requests) == 2


async def test_the_server_may_ask_for_more_time() -> None:
    async with asking([Says(503, b"", headers=(("Retry-After", "30"),)), DONE]) as (server, control_plane):
        with pytest.raises(Unreachable):
            await control_plane.finish(KEY, REPORT, within=5)
    assert len(server.requests) == 1


async def test_a_control_plane_in_the_same_process_that_fails_is_unreachable() -> None:
    async def failing(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("database on fire")

    async with in_process(failing) as http:
        with pytest.raises(Unreachable, match="it answered 500"):
            await ControlPlane(http).heartbeat(KEY, Heartbeat("agent"))


def test_waits_grow_to_a_limit_and_are_drawn_from_the_whole_range() -> None:
    certain = BackOff(0.1, 5, draw=lambda: 1.0)
    assert [certain.seconds(failures) for failures in (1, 2, 3, 10, 10_000)] == [0.1, 0.2, 0.4, 5, 5]
    assert BackOff(0.1, 5, draw=lambda: 0.0).seconds(7) == 0
