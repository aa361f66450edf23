"""Who may take which way in: every route of the table for every kind of caller. A new route needs a row here."""

import asyncio
import re
import time
from typing import Any

import httpx2
import pytest

from tests.access_matrix import CALLERS, ENDLESS, MAY, Enter, expected, grounds
from tests.control_plane import Server, eventually
from whilly.client.connect import in_process
from whilly.core.plan import TaskSpec
from whilly.core.tokens import SECRET_BYTES, TokenKind, kind_of, write_token
from whilly.operations.check_token import check_token
from whilly.operations.issue_token import issue_token, mint
from whilly.operations.read_events import events_after
from whilly.operations.read_plans import export_plan
from whilly.operations.revoke_token import revoke_token
from whilly.server.app import ROUTES, create_app
from whilly.store.database import Database

SECRET = "zebra-crossing"


def test_every_route_has_a_row() -> None:
    """Whoever adds a way in writes down in `tests/access_matrix.py` who may take it."""
    assert {(route.method, route.path) for route in ROUTES} == set(MAY)


def test_no_route_stands_twice_in_the_table() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_every_kind_of_token_is_among_the_callers() -> None:
    assert {kind.value for kind in TokenKind} <= {caller.partition("-")[0] for caller in CALLERS}


def test_every_way_into_the_application_is_in_the_table(database: Database) -> None:
    app = create_app(database)
    found = {
        (method, route.path)  # type: ignore[attr-defined]
        for route in app.routes
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    assert found == set(MAY)


@pytest.mark.parametrize("caller", CALLERS)
async def test_who_may_take_which_way_in(server: Server, caller: str) -> None:
    """Every route for every kind of caller: in, 401 or 403, as it is written down."""
    place = await grounds(server)
    wrong = []
    for route in ROUTES:
        http = await CALLERS[caller](server)
        answer = await place.knock(http, route)
        found = str(answer.status_code) if answer.status_code in (401, 403) else "in"
        if found != expected(route, caller) or answer.status_code >= 500:
            wrong.append((route.method, route.path, answer.status_code, answer.text[:200]))
    assert not wrong


@pytest.mark.parametrize("caller", [caller for caller in CALLERS if caller not in ("operator", "session")])
async def test_nobody_learns_or_changes_anything_of_another_plan(server: Server, caller: str) -> None:
    """Asked about plan q, where strangers and the tokens of plan p have nothing to look for."""
    place = await grounds(server, SECRET)
    enter = CALLERS[caller] if not caller.endswith("-q") else _of_the_other_plan(caller)
    before = await export_plan(server.database, "q")
    await server.numbered()
    events = len(await events_after(server.database, 0, "q", 100))
    for route in ROUTES:
        http = await enter(server)
        for path in (place.address(route, "q"), place.address(route, "q").partition("?")[0]):
            method = "HEAD" if route.path in ENDLESS else route.method
            body = {"plan": "q", "claim_id": "c", "agents": ["scripted"], "plan_id": "q", "project": "x", "tasks": []}
            answer = await http.request(method, path, json=None if method in ("GET", "HEAD") else body)
            assert SECRET not in answer.text, (route.method, path)
    assert await export_plan(server.database, "q") == before
    await server.numbered()
    assert len(await events_after(server.database, 0, "q", 100)) == events


def _of_the_other_plan(caller: str) -> Enter:
    kind = TokenKind.WORKER if caller == "worker-q" else TokenKind.OPERATOR

    async def enter(server: Server) -> httpx2.AsyncClient:
        issued = await issue_token(
            server.database, kind, worker="worker-b" if kind is TokenKind.WORKER else None, plan="p"
        )
        return in_process(server.app, issued.bearer)

    return enter


async def test_a_probe_needs_no_token(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    told = (await server.nobody().get("/health")).json()
    assert told == {"status": "ok", "db_reachable": True, "listener_connected": True, "queue_depth": 1}


async def test_a_worker_of_one_plan_reads_no_other(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    await server.store("q", TaskSpec("T-1", "One"))
    async with await server.worker(plan="p") as http:
        assert (await http.get("/api/v1/tasks?plan_id=p")).status_code == 200
        assert (await http.get("/api/v1/tasks?plan_id=q")).status_code == 403
        assert (await http.get("/api/v1/plans/q")).status_code == 403
        assert (await http.get("/events/stream?plan=q")).status_code == 403


async def test_a_revoked_token_is_refused_within_two_seconds(server: Server) -> None:
    issued = await issue_token(server.database, TokenKind.OPERATOR)
    http = server.nobody()
    http.headers["Authorization"] = f"Bearer {issued.bearer}"
    assert (await http.get("/api/v1/plans")).status_code == 200
    await revoke_token(server.database, issued.id)
    began = time.monotonic()

    async def refused() -> bool:
        return (await http.get("/api/v1/plans")).status_code == 401

    await eventually(refused)
    assert time.monotonic() - began < 2.5


async def test_revoking_takes_the_children_along(database: Database) -> None:
    parent = await issue_token(database, TokenKind.OPERATOR)
    async with database.transaction() as tx:
        child = await mint(tx, TokenKind.WORKER, worker="w", parent=parent.id)
    assert await check_token(database, child.bearer)
    assert sorted(await revoke_token(database, parent.id)) == sorted([parent.id, child.id])
    assert await check_token(database, child.bearer) is None
    assert await revoke_token(database, parent.id) == []


async def test_garbage_costs_no_query(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(type(server.database), "fetch", lambda *_args: asked.append(1))
    good = write_token(TokenKind.OPERATOR, bytes(SECRET_BYTES))
    flipped = good[:-1] + ("0" if good[-1] != "0" else "1")
    for bearer in ("", "x", "whl_op_", good[:-1], good + "0", flipped, good.replace("op", "xx"), "é" * 56):
        http = server.nobody()
        http.headers = httpx2.Headers({"Authorization": f"Bearer {bearer}"}, encoding="latin-1")
        assert (await http.get("/api/v1/plans")).status_code == 401
    assert not asked


def test_a_token_is_found_by_its_form() -> None:
    for kind in TokenKind:
        token = write_token(kind, b"\xff" * SECRET_BYTES)
        assert re.fullmatch(r"whl_(wk|op|se|mt|bs|cl)_[0-9A-Za-z]{49}", token)
        assert kind_of(token) is kind
        assert kind_of(write_token(kind, bytes(SECRET_BYTES))) is kind


async def test_a_bearer_is_not_stored(server: Server) -> None:
    issued = await issue_token(server.database, TokenKind.WORKER, worker="w-1")
    async with server.database.connection() as connection:
        for table in ("tokens", "events", "workers"):
            rows = await connection.fetch(f"select {table}::text as line from {table}")
            assert not [row for row in rows if issued.bearer in row["line"]]


async def test_many_probes_cost_one_look(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    fetch = type(server.database).fetch

    async def counted(self: Database, name: str, *arguments: object) -> list[Any]:
        asked.append(name)
        return await fetch(self, name, *arguments)

    monkeypatch.setattr(type(server.database), "fetch", counted)
    http = server.nobody()
    answers = await asyncio.gather(*(http.get("/health") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    assert asked.count("queue_depth") <= 1
