"""What each caller may have, and that nobody can have more by asking often."""

import asyncio

import pytest
from starlette.types import Message

from tests.builders import told
from tests.control_plane import Server, eventually
from whilly.client.connect import in_process
from whilly.core.plan import TaskSpec
from whilly.core.tokens import SECRET_BYTES, TokenKind, write_token
from whilly.operations.log_in import issue_login
from whilly.server import rates
from whilly.server.claims import Claims
from whilly.server.rates import Allowance, retry_after
from whilly.wire.work import ClaimRequest


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stock_is_taken_and_fills_up_again() -> None:
    clock = Clock()
    allowance = Allowance(3, 0.5, clock)
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 2]
    assert allowance.used_up("a")
    assert not allowance.used_up("b")
    assert allowance.take("b") == 0
    clock.now += 1
    assert allowance.take("a") == 1
    clock.now += 1
    assert allowance.take("a") == 0
    clock.now += 100
    assert [allowance.take("a") for _ in range(4)] == [0, 0, 0, 2]


def test_more_than_the_stock_is_given_to_whoever_took_nothing() -> None:
    clock = Clock()
    allowance = Allowance(10, 1, clock)
    assert allowance.take("a", 25) == 0
    assert allowance.take("a", 1) == 16
    clock.now += 16
    assert allowance.take("a", 1) == 0


def test_whoever_comes_with_many_names_is_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REMEMBERED", 10)
    allowance = Allowance(2, 0.1, Clock())
    for _ in range(2):
        allowance.take("busy")
    for number in range(100):
        allowance.take(str(number))
    assert len(allowance._owed) <= 10
    assert allowance.used_up("busy")


def test_seconds_to_wait_are_whole_and_never_none() -> None:
    assert [retry_after(seconds)["Retry-After"] for seconds in (0, 0.2, 1, 1.5)] == ["1", "1", "1", "2"]


async def test_wrong_tokens_are_refused_without_a_query_in_the_end(server: Server) -> None:
    """Well-formed ones as well; who is known already goes on, from the same address."""
    known = await server.operator()
    assert (await known.get("/api/v1/plans")).status_code == 200
    server.engine.access.guesses = Allowance(5, 0.001)
    answers = []
    for number in range(7):
        http = in_process(server.app, write_token(TokenKind.OPERATOR, number.to_bytes(SECRET_BYTES)))
        answers.append(await http.get("/api/v1/plans"))
    assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 2
    assert answers[-1].headers["retry-after"] == "1"
    assert answers[-1].json()["type"] == "too_many_wrong_tokens"

    async def asked(*_arguments: object) -> None:
        raise AssertionError("it asked the database")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whilly.server.auth.check_token", asked)
        for bearer in ("garbage", write_token(TokenKind.WORKER, bytes(SECRET_BYTES))):
            assert (await in_process(server.app, bearer).get("/api/v1/plans")).status_code == 429
    assert (await known.get("/api/v1/plans")).status_code == 200
    # Nor can links be guessed any faster.
    code = await issue_login(server.database, "ada")
    assert (await server.nobody().get("/login/no-such-code")).status_code == 429
    assert (await server.nobody().get(f"/login/{code}")).status_code == 429


async def test_a_worker_that_asks_and_goes_away_has_to_wait_in_the_end(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    server.engine.storing = Allowance(100_000, 1)
    http, ask = await server.worker(), ClaimRequest("c", "p", ("scripted",))
    claims: Claims = server.app.state.claims
    for times in (1, 2):
        leaving = asyncio.create_task(claims.claim("w-1", ask, _never))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

        async def given_back(times: int = times) -> bool:
            return (await told(server.database)).count("RELEASE") == times

        await eventually(given_back)
    refused = await http.post("/api/v1/claim", json={"claim_id": "d", "plan": "p", "agents": ["scripted"]})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert await (await server.control_plane("w-2")).claim(ask) is not None


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_an_attempts_own_token_passes_beside_a_guesser(server: Server) -> None:
    """Once it was good; and a new one only when the guesser has stopped."""
    await server.store("p", TaskSpec("T-1", "One"))
    held = await (await server.control_plane()).claim(ClaimRequest("c", "p", ("scripted",)))
    assert held is not None
    own = in_process(server.app, held.claim_token)
    path = "/api/v1/plans/p/tasks/T-1/attempts/1/heartbeat"
    assert (await own.post(path, json={"phase": "agent"})).status_code == 200
    server.engine.access.guesses = Allowance(1, 0.001)
    for _ in range(3):
        await in_process(server.app, "garbage").get("/api/v1/plans")
    assert (await own.post(path, json={"phase": "agent"})).status_code == 200
    wrong = write_token(TokenKind.CLAIM, bytes(SECRET_BYTES))
    assert (await in_process(server.app, wrong).post(path, json={"phase": "agent"})).status_code == 429


async def test_nobody_is_refused_for_having_no_token(server: Server) -> None:
    server.engine.access.guesses = Allowance(1, 0.001)
    for _ in range(5):
        assert (await server.nobody().get("/api/v1/plans")).status_code == 401


async def test_a_worker_cannot_fill_the_database(server: Server) -> None:
    """It is asked to wait; its result is taken all the same, and another worker does not notice."""
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    server.engine.storing = Allowance(100_000, 1_000)
    one, other = await server.worker("w-1"), await server.worker("w-2")
    for number, http in enumerate((one, other), 1):
        ask = {"claim_id": f"c-{number}", "plan": "p", "agents": ["scripted"]}
        assert (await http.post("/api/v1/claim", json=ask)).status_code == 200
    path = "/api/v1/plans/p/tasks/T-{}/attempts/1/{}"
    chunk = [{"number": 0, "text": "x" * 60_000}]
    statuses = [(await one.post(path.format(1, "transcript"), json=chunk)) for _ in range(2)]
    assert [answer.status_code for answer in statuses] == [204, 429]
    assert 20 <= int(statuses[-1].headers["retry-after"]) <= 30
    events = [{"type": "agent.note", "payload": {"text": "x" * 5_000}}]
    assert (await one.post(path.format(1, "events"), json=events)).status_code == 429
    assert (await other.post(path.format(2, "transcript"), json=chunk)).status_code == 204
    finish = {"outcome": "completed", "head_commit": "c" * 40, "files_changed": 1}
    assert (await one.post(path.format(1, "finish"), json=finish)).status_code == 200
