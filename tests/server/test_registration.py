"""Machines join with bootstrap tokens, and the control plane proves who it is."""

import asyncio

import httpx2
import pytest

from tests.control_plane import Server, running_server
from whilly.client.connect import in_process
from whilly.client.identity import proof_of, public_key_of
from whilly.client.moving import NotProven
from whilly.core.tokens import SECRET_BYTES, TokenKind, write_token
from whilly.operations.issue_token import issue_token
from whilly.operations.mint_token import mint_token
from whilly.operations.read_events import events_after
from whilly.server.auth import GivenBearers
from whilly.store.database import Database


async def joining(server: Server, **limits: object) -> httpx2.AsyncClient:
    issued = await mint_token(server.database, TokenKind.BOOTSTRAP, "ann@users.example", **limits)  # type: ignore[arg-type]
    return in_process(server.app, issued.bearer)


async def test_a_bootstrap_token_makes_a_worker(server: Server) -> None:
    http = await joining(server)
    answer = await http.post("/workers/register", json={"hostname": "box-1"})

    assert answer.status_code == 201
    told = answer.json()
    assert told["worker_id"].startswith("w-")
    assert told["token"].startswith("whl_wk_")
    assert told["public_key"] == await public_key_of(server.nobody())
    worker = in_process(server.app, told["token"])
    presence = await worker.post("/api/v1/presence", json={"incarnation": "i", "hostname": "box-1"})
    assert presence.json()["worker"] == told["worker_id"]
    await server.numbered()
    events = {event.type: event.payload for event in await events_after(server.database, 0, None, 100)}
    assert events["worker.registered"]["owner_email"] == "ann@users.example"
    assert "whl_" not in str(events)


async def test_a_bootstrap_token_is_used_as_often_as_it_may_be_however_many_ask_at_once(server: Server) -> None:
    http = await joining(server, uses=3)
    answers = await asyncio.gather(*(http.post("/workers/register", json={"hostname": f"b{n}"}) for n in range(8)))

    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [403] * 5
    refused = next(answer.json() for answer in answers if answer.status_code != 201)
    assert "as often as it may be" in refused["detail"]


async def test_a_worker_gets_no_more_plans_than_its_bootstrap_token(server: Server) -> None:
    http = await joining(server, plan="p", uses=3)
    assert (await http.post("/workers/register", json={"hostname": "b"})).json()["plan"] == "p"
    assert (await http.post("/workers/register", json={"hostname": "b", "plan": "p"})).status_code == 201
    assert (await http.post("/workers/register", json={"hostname": "b", "plan": "q"})).status_code == 403


async def test_the_secret_of_the_environment_lets_machines_join(database: Database) -> None:
    given = "0123456789abcdef0123456789abcdef"
    async with running_server(database, bearers=GivenBearers(bootstrap=given)) as server:
        for name in ("one", "two"):
            answer = await in_process(server.app, given).post("/workers/register", json={"hostname": name})
            assert answer.status_code == 201
        assert (await in_process(server.app, given).get("/api/v1/plans")).status_code == 403
        wrong = in_process(server.app, given[:-1] + "0")
        assert (await wrong.post("/workers/register", json={"hostname": "x"})).status_code == 401


async def test_a_token_of_our_form_in_the_environment_is_no_way_past_its_uses(database: Database) -> None:
    counted = await mint_token(database, TokenKind.BOOTSTRAP, "ann")
    async with running_server(database, bearers=GivenBearers(bootstrap=counted.bearer)) as server:
        http = in_process(server.app, counted.bearer)
        assert (await http.post("/workers/register", json={"hostname": "b"})).status_code == 201
        assert (await http.post("/workers/register", json={"hostname": "b"})).status_code == 403


async def test_without_a_secret_or_token_nobody_joins(server: Server) -> None:
    for bearer in ("", "None", write_token(TokenKind.BOOTSTRAP, bytes(SECRET_BYTES))):
        answer = await in_process(server.app, bearer).post("/workers/register", json={"hostname": "b"})
        assert answer.status_code == 401


async def test_all_who_have_the_older_shared_bearer_are_one_worker(database: Database) -> None:
    async with running_server(database, bearers=GivenBearers(shared="s" * 40)) as server:
        http = in_process(server.app, "s" * 40)
        assert (await http.post("/api/v1/presence", json={"incarnation": "i", "hostname": "b"})).json()["worker"] == (
            "shared"
        )


async def test_the_control_plane_proves_its_key_for_the_address_it_is_asked_at(server: Server) -> None:
    http = server.nobody()
    key = await public_key_of(http)
    await proof_of(key)(http, "http://localhost")

    with pytest.raises(NotProven, match="another key"):
        await proof_of("ed25519:" + "00" * 32)(http, "http://localhost")
    with pytest.raises(NotProven, match="409"):
        await proof_of(key)(http, "https://somebody.else.example")


async def test_a_proof_is_good_for_one_nonce(server: Server) -> None:
    http = server.nobody()
    key = await public_key_of(http)
    asked = {"nonce": "n" * 40, "address": "http://localhost"}
    old = (await http.post("/api/v1/identity/proof", json=asked)).content

    async def replay(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=old)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(replay), base_url="http://localhost") as impostor:
        with pytest.raises(NotProven, match="signature"):
            await proof_of(key)(impostor, "http://localhost")


async def test_all_servers_of_a_database_are_one_control_plane(database: Database) -> None:
    async with running_server(database) as one, running_server(database) as other:
        assert await public_key_of(one.nobody()) == await public_key_of(other.nobody())


async def test_an_ended_bootstrap_token_does_not_end_its_workers(server: Server) -> None:
    http = await joining(server)
    told = (await http.post("/workers/register", json={"hostname": "b"})).json()
    async with server.database.connection() as connection:
        await connection.execute(
            "update tokens set expires_at = clock_timestamp() - interval '1 day' where kind = 'bootstrap'"
        )
    server.engine.access.forget()
    worker = in_process(server.app, told["token"])
    assert (await worker.get("/openapi.json")).status_code == 200
    assert (await http.post("/workers/register", json={"hostname": "b"})).status_code == 401


async def test_an_operator_cannot_join_with_its_token(server: Server) -> None:
    issued = await issue_token(server.database, TokenKind.OPERATOR, label="ann")
    http = in_process(server.app, issued.bearer)
    assert (await http.post("/workers/register", json={"hostname": "b"})).status_code == 403
