"""Who may take which way in: every route of the table for every kind of caller. A new route needs a row here."""

import re
import time

import httpx2
import pytest

from tests.control_plane import Server, eventually
from whilly.core.plan import TaskSpec
from whilly.core.tokens import SECRET_BYTES, TokenKind, kind_of, write_token
from whilly.operations.check_token import check_token
from whilly.operations.issue_token import issue_token, mint
from whilly.operations.revoke_token import revoke_token
from whilly.server.app import ROUTES, create_app
from whilly.server.route import Route
from whilly.store.database import Database

ATTEMPT = "/api/v1/plans/{plan}/tasks/{task}/attempts/{epoch:int}"
TASK = "/api/v1/plans/{plan}/tasks/{task}"
EXPECTED = {
    ("POST", "/api/v1/claim"): "worker",
    ("POST", f"{ATTEMPT}/start"): "worker",
    ("POST", f"{ATTEMPT}/heartbeat"): "worker",
    ("POST", f"{ATTEMPT}/events"): "worker",
    ("POST", f"{ATTEMPT}/transcript"): "worker",
    ("POST", f"{ATTEMPT}/finish"): "worker",
    ("POST", f"{ATTEMPT}/release"): "worker",
    ("GET", "/api/v1/plans"): "operator session",
    ("GET", "/api/v1/plans/{plan}"): "worker operator session",
    ("GET", TASK): "operator session",
    ("GET", f"{TASK}/why"): "operator session",
    ("GET", f"{ATTEMPT}/transcript"): "operator session",
    ("GET", "/api/v1/tasks"): "worker operator session",
    ("POST", f"{TASK}/cancel"): "operator session",
    ("POST", f"{TASK}/retry"): "operator session",
    ("POST", f"{TASK}/skip"): "operator session",
    ("POST", f"{TASK}/review"): "operator session",
    ("POST", "/api/v1/pause"): "operator session",
    ("POST", "/api/v1/resume"): "operator session",
    ("GET", "/api/v1/events"): "operator session",
    ("GET", "/events/stream"): "worker operator session",
    ("GET", "/changes"): "operator session",
    ("GET", "/metrics"): "metrics",
    ("GET", "/health/live"): "nobody worker operator session metrics revoked",
    ("GET", "/health/ready"): "nobody worker operator session metrics revoked",
    ("GET", "/health"): "nobody worker operator session metrics revoked",
    ("GET", "/login/{code}"): "nobody worker operator session metrics revoked",
    ("POST", "/logout"): "operator session",
    ("GET", "/"): "operator session",
    ("POST", "/plans/{plan}"): "operator session",
    ("POST", "/plans/{plan}/tasks/{task}"): "operator session",
    ("GET", "/static/{name}"): "operator session",
}
CALLERS = ("nobody", "worker", "operator", "session", "metrics", "revoked")
ENDLESS = {"/events/stream", "/changes"}
"""Streams: whoever is let in would wait for ever, so that they let in is seen by a request that they refuse later."""


def by_hand(route: Route) -> str:
    return re.sub(r"{epoch:int}", "1", route.path).format(plan="p", task="T-1", code="no-such-code", name="page.css")


async def client(server: Server, caller: str) -> httpx2.AsyncClient:
    if caller == "nobody":
        return server.nobody()
    if caller == "worker":
        return await server.worker()
    if caller == "operator":
        return await server.operator()
    if caller == "session":
        return await server.session()
    if caller == "metrics":
        return await server.scraper()
    issued = await issue_token(server.database, TokenKind.OPERATOR, label="former")
    await revoke_token(server.database, issued.id)
    former = server.nobody()
    former.headers["Authorization"] = f"Bearer {issued.bearer}"
    return former


def test_every_route_has_a_row() -> None:
    assert {(route.method, route.path) for route in ROUTES} == set(EXPECTED)


def test_every_way_into_the_application_is_in_the_table(database: Database) -> None:
    app = create_app(database)
    found = {
        (method, route.path)  # type: ignore[attr-defined]
        for route in app.routes
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    assert found == set(EXPECTED)


@pytest.mark.parametrize("caller", CALLERS)
async def test_who_may_take_which_way_in(server: Server, caller: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    wrong = []
    for route in ROUTES:
        may = caller in EXPECTED[route.method, route.path].split()
        if may and route.path in ENDLESS:
            continue
        if route.path == "/logout" and may:
            continue
        http = await client(server, caller)
        answer = await http.request(route.method, by_hand(route), json={} if route.method == "POST" else None)
        let_in = answer.status_code not in {401, 403}
        if let_in is not may:
            wrong.append((route.method, route.path, answer.status_code))
    assert not wrong


@pytest.mark.parametrize("caller", ["nobody", "revoked"])
async def test_a_stranger_learns_nothing(server: Server, caller: str) -> None:
    await server.store("secret-plan", TaskSpec("T-1", "a secret task"), project="secret project")
    http = await client(server, caller)
    for route in ROUTES:
        answer = await http.request(route.method, by_hand(route).replace("/p/", "/secret-plan/"), json={})
        assert "secret" not in answer.text, route
        assert "queue_depth" not in answer.text
    assert (await http.get("/health")).json() == {"status": "ok"}


async def test_a_known_caller_sees_the_details_of_health(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    told = (await (await server.operator()).get("/health")).json()
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
        assert re.fullmatch(r"whl_(wk|op|se|mt)_[0-9A-Za-z]{49}", token)
        assert kind_of(token) is kind
        assert kind_of(write_token(kind, bytes(SECRET_BYTES))) is kind


async def test_a_bearer_is_not_stored(server: Server) -> None:
    issued = await issue_token(server.database, TokenKind.WORKER, worker="w-1")
    async with server.database.connection() as connection:
        for table in ("tokens", "events", "workers"):
            rows = await connection.fetch(f"select {table}::text as line from {table}")
            assert not [row for row in rows if issued.bearer in row["line"]]
