"""Names, sites and headers: what a browser can be made to do by somebody else, and what not."""

import asyncpg
import httpx2
import pytest

from tests.control_plane import Server
from whilly.client.connect import in_process
from whilly.core.plan import Status, TaskSpec
from whilly.operations.read_plans import list_plans
from whilly.server.app import ROUTES, create_app
from whilly.store.database import Database


@pytest.mark.parametrize(
    ("host", "fine"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("LOCALHOST:1", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8000", False),
        ("", False),
        ("evil.example:localhost", False),
        ("[::1].evil.example", False),
        ("evil.example@localhost", False),
        ("localhost:80:80", False),
    ],
)
async def test_a_name_that_is_not_ours_is_refused_everywhere(server: Server, host: str, fine: bool) -> None:
    http = await server.operator()
    for path in ("/health/live", "/", "/events/stream?plan=%", "/api/v1/plans", "/nowhere"):
        if fine and path.startswith("/events"):
            continue
        answer = await http.get(path, headers={"Host": host})
        assert (answer.status_code != 421) is fine, (path, answer.status_code)


async def test_names_can_be_added(database: Database) -> None:
    app = create_app(database, hosts=["whilly.example"])
    http = in_process(app)
    assert (await http.get("/health/live", headers={"Host": "whilly.example:443"})).status_code == 200
    assert (await http.get("/health/live", headers={"Host": "other.example"})).status_code == 421


async def test_every_answer_carries_the_headers(server: Server) -> None:
    http = await server.session()
    for path in ("/", "/health/live", "/api/v1/plans", "/nowhere", "/api/v1/tasks", "/login/x", "/static/page.css"):
        headers = (await http.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


async def test_a_page_of_another_site_cannot_act(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.session()
    del http.headers["Sec-Fetch-Site"]
    form = {"decision": "skip"}
    foreign: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {},
    ]
    for headers in foreign:
        answer = await http.post("/plans/p/tasks/T-1", data=form, headers=headers)
        assert answer.status_code == 403, headers
        answer = await http.post("/api/v1/plans/p/tasks/T-1/skip", json={}, headers=headers)
        assert answer.status_code == 403, headers
    assert (await list_plans(server.database))[0].counts == {Status.PENDING: 1}
    ours: list[dict[str, str]] = [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}]
    for headers in ours:
        answer = await http.post("/plans/p/tasks/T-1", data=form, headers=headers)
        assert answer.status_code == 303, headers


async def test_a_bearer_needs_no_origin(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    assert (await http.post("/api/v1/plans/p/tasks/T-1/skip", json={})).json() == {"status": "SKIPPED"}


async def test_json_is_taken_as_json_only(server: Server) -> None:
    http = await server.session()
    answer = await http.post("/api/v1/pause", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    answer = await http.post("/plans/p", json={"decision": "pause"})
    assert answer.status_code == 415


async def test_an_unknown_address_is_a_problem_and_not_a_page(server: Server) -> None:
    http = await server.operator()
    answer = await http.get("/no/such")
    assert (answer.status_code, answer.json()["type"]) == (404, "not_found")
    answer = await http.delete("/api/v1/plans")
    assert (answer.status_code, answer.json()["type"]) == (405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/api/v1/plans/p/tasks/T-1/attempts/{'9' * 5_000}", 404),
        (f"/api/v1/plans/p/tasks/T-1/attempts/{'9' * 18}", 404),
        ("/api/v1/plans/p/tasks/T-1/attempts/%D9%A3", 404),
        ("/api/v1/plans/%00", 422),
        ("/api/v1/plans/%ff%fe", 404),
        ("/api/v1/plans/..%2f..", 404),
        ("/api/v1/tasks?plan_id=%00", 422),
        ("/static/%00", 404),
    ],
)
async def test_an_odd_address_is_a_problem_too(server: Server, path: str, status: int) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    answer = await (await server.operator()).get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


async def test_a_crash_tells_nothing_but_a_reference(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(*_arguments: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("whilly.server.routes.plans.list_plans", crash)
    answer = await (await server.operator()).get("/api/v1/plans")
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert "reference" in answer.json()["detail"]


@pytest.mark.parametrize(
    "failure",
    [
        ConnectionRefusedError("nobody there"),
        TimeoutError(),
        asyncpg.AdminShutdownError("terminating connection due to administrator command"),
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.TooManyConnectionsError("sorry, too many clients already"),
        asyncpg.DiskFullError("could not extend file"),
        asyncpg.InterfaceError("pool is closing"),
    ],
)
async def test_a_database_that_is_away_is_said_and_may_be_asked_again(server: Server, failure: Exception) -> None:
    http: httpx2.AsyncClient = await server.operator()
    assert (await http.get("/api/v1/plans")).status_code == 200

    async def away(*_arguments: object) -> None:
        raise failure

    server.engine.access.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(server.database), "fetch", away)
        answer = await http.get("/api/v1/plans")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert (await http.get("/health/live")).status_code == 200
        ready = await http.get("/health/ready")
        assert (ready.status_code, ready.json()["status"], ready.json()["db_reachable"]) == (503, "unavailable", False)


async def test_no_route_takes_a_bearer_in_its_address(server: Server) -> None:
    bearer = (await server.operator()).headers["Authorization"].removeprefix("Bearer ")
    for name in ("token", "access_token", "bearer", "authorization"):
        assert not [route.path for route in ROUTES if any(parameter.name == name for parameter in route.query)]
        for path in ("/api/v1/plans", "/events/stream", "/metrics"):
            assert (await server.nobody().get(f"{path}?{name}={bearer}")).status_code == 401
