"""Servers and workers of different releases."""

from typing import Any

import pytest

from tests.control_plane import Server
from whilly.core.plan import TaskSpec
from whilly.server.errors import Denied
from whilly.server.negotiation import check_protocol
from whilly.wire.protocol import HEADER, VERSION


def refused(spoken: str, version: int) -> Denied | None:
    try:
        check_protocol({HEADER: spoken}, version)
    except Denied as denied:
        return denied
    return None


@pytest.mark.parametrize("spoken", ["5", "6", "7"])
def test_workers_up_to_two_releases_older_are_served(spoken: str) -> None:
    assert refused(spoken, 7) is None


def test_an_older_one_is_told_what_to_install() -> None:
    denied = refused("4", 7)
    assert denied is not None
    assert (denied.problem.type, denied.problem.status) == ("protocol_too_old", 400)
    assert "speaks protocol 4" in denied.problem.detail
    assert "speaks 5 to 7" in denied.problem.detail
    assert denied.problem.remedy.startswith("Install whilly ")


def test_a_newer_one_is_told_what_to_do() -> None:
    denied = refused("8", 7)
    assert denied is not None
    assert denied.problem.type == "protocol_too_new"
    assert "the server is the older one" in denied.problem.detail
    assert "Upgrade the server first" in denied.problem.remedy


@pytest.mark.parametrize("spoken", ["", "x", "-1", "1.0", "٣", "9" * 40, " 1"])
def test_what_is_no_version_is_said_so(spoken: str) -> None:
    denied = refused(spoken, 7)
    assert denied is not None
    assert denied.problem.type == "bad_protocol"


def test_the_first_protocol_has_nothing_before_it() -> None:
    assert refused("1", 1) is None
    assert refused("0", 1) is not None
    assert refused("0", 2) is not None


async def test_a_caller_that_names_none_is_served(server: Server) -> None:
    http = await server.operator()
    del http.headers[HEADER]
    answer = await http.get("/api/v1/plans")
    assert (answer.status_code, answer.headers[HEADER]) == (200, str(VERSION))


async def test_it_is_refused_before_anything_is_done(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    for spoken, kind in (("0", "protocol_too_old"), (str(VERSION + 1), "protocol_too_new")):
        http.headers[HEADER] = spoken
        answer = await http.post("/api/v1/plans/p/tasks/T-1/cancel", json={})
        assert (answer.status_code, answer.json()["type"]) == (400, kind)
        assert answer.headers[HEADER] == str(VERSION)
    del http.headers[HEADER]
    assert (await http.get("/api/v1/plans/p/tasks/T-1")).json()["status"] == "PENDING"


async def test_the_messages_of_the_first_release_are_understood(server: Server) -> None:
    """As its workers sent them: they may still run when the server is two releases further."""
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    http = await server.worker()
    http.headers[HEADER] = "1"
    usage = {"cost": 5, "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 0, "cache_write_tokens": 0}

    async def said(path: str, body: object, status: int = 200) -> Any:
        answer = await http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    claim = {"claim_id": "c-1", "plan": "p", "agents": ["scripted"], "wait_seconds": 20.0}
    granted = await said("claim", claim)
    assert {"plan", "project", "spec", "epoch", "claim_id", "lease_seconds", "checks", "agent", "limit"} <= set(granted)
    attempt = f"plans/p/tasks/T-1/attempts/{granted['epoch']}"
    await said(
        f"{attempt}/start", {"agent": "scripted", "agent_version": "1", "model": "", "base_commit": "0" * 40}, 204
    )
    beat = await said(f"{attempt}/heartbeat", {"phase": "agent", "last_line": "working", "usage": usage})
    assert {"lease_seconds", "cancel", "limit"} <= set(beat)
    event = {"type": "llm.run_started", "payload": {"status": "started"}, "detail": None, "number": 1}
    await said(f"{attempt}/events", [event], 204)
    await said(f"{attempt}/transcript", [{"number": 0, "text": "hello"}], 204)
    report: dict[str, Any] = {
        "outcome": "completed",
        "base_commit": "0" * 40,
        "head_commit": "1" * 40,
        "checks": [],
        "usage": usage,
    }
    report |= {"files_changed": 1, "branch": "whilly/p/T-1"}
    assert await said(f"{attempt}/finish", report) == {"status": "DONE", "reason": ""}

    granted = await said("claim", claim | {"claim_id": "c-2"})
    release = {"cause": "shutdown", "usage": usage, "kept_ref": "", "reason": ""}
    done = await said(f"plans/p/tasks/T-2/attempts/{granted['epoch']}/release", release)
    assert done["status"] == "PENDING"
