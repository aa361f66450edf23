"""A link that works once, and the cookie it leaves."""

from datetime import timedelta

from tests.control_plane import Server
from whilly.client.connect import in_process
from whilly.operations.log_in import issue_login


async def test_a_link_opens_a_session_once(server: Server) -> None:
    code = await issue_login(server.database, "ada")
    http = server.nobody()
    answer = await http.get(f"/login/{code}")
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert cookie.startswith("whilly_80=whl_se_")
    assert (await http.get("/")).status_code == 200

    again = server.nobody()
    assert (await again.get(f"/login/{code}")).status_code == 410
    assert (await again.get("/")).status_code == 401


async def test_over_https_the_cookie_is_bound_to_the_host(server: Server) -> None:
    http = in_process(server.app)
    answer = await http.get(f"https://localhost/login/{await issue_login(server.database, 'ada')}")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-whilly=")
    assert "Secure" in cookie
    assert "Path=/" in cookie


async def test_an_old_or_invented_link_opens_nothing(server: Server) -> None:
    http = server.nobody()
    old = await issue_login(server.database, "ada", timedelta(seconds=-1))
    for code in (old, "invented", "x" * 10_000, "%00", "..%2f"):
        answer = await http.get(f"/login/{code}")
        assert answer.status_code in {404, 410}
        assert "set-cookie" not in answer.headers


async def test_fetching_ahead_does_not_use_the_link_up(server: Server) -> None:
    code = await issue_login(server.database, "ada")
    http = server.nobody()
    assert (await http.get(f"/login/{code}", headers={"Sec-Purpose": "prefetch;prerender"})).status_code == 503
    assert (await http.head(f"/login/{code}")).status_code == 503
    assert (await http.get(f"/login/{code}")).status_code == 200


async def test_logging_out_ends_the_session_at_once(server: Server) -> None:
    http = await server.session()
    cookies = dict(http.cookies)
    assert (await http.post("/logout")).status_code == 303
    assert (await http.get("/")).status_code == 401
    thief = server.nobody()
    thief.cookies.update(cookies)
    assert (await thief.get("/")).status_code == 401


async def test_a_sessions_token_is_no_bearer_and_a_bearer_no_cookie(server: Server) -> None:
    http = await server.session()
    (name, token), *_ = dict(http.cookies).items()
    stolen = server.nobody()
    stolen.headers["Authorization"] = f"Bearer {token}"
    assert (await stolen.get("/api/v1/plans")).status_code == 401
    operator = await server.operator()
    bearer = operator.headers["Authorization"].removeprefix("Bearer ")
    swapped = server.nobody()
    swapped.cookies.set(name, bearer, domain="localhost.local")
    assert (await swapped.get("/api/v1/plans")).status_code == 401


async def test_an_open_page_whose_session_ended_reloads(server: Server) -> None:
    answer = await server.nobody().get("/?fragment=board", headers={"HX-Request": "true", "Accept": "text/html"})
    assert (answer.status_code, answer.headers["hx-refresh"]) == (401, "true")


async def test_a_stranger_with_a_browser_gets_a_page_that_says_what_to_do(server: Server) -> None:
    answer = await server.nobody().get("/", headers={"Accept": "text/html,*/*"})
    assert answer.status_code == 401
    assert "one-time link" in answer.text
    assert "sha256-" in answer.headers["content-security-policy"]
