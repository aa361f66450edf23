"""Tokens are minted, rotated and revoked; what goes on under them ends with them."""

import asyncio
from datetime import timedelta

from tests.control_plane import Server, eventually
from whilly.client.connect import in_process
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.operations.mint_token import mint_token
from whilly.operations.shut_out import revoke_worker
from whilly.wire.work import ClaimRequest, Release

HEARTBEAT = "/api/v1/plans/{}/tasks/{}/attempts/{}/heartbeat"


async def at_work(server: Server, parent: str | None = None) -> tuple[ControlPlane, str, str]:
    """A worker that holds a task: its way to the control plane, its bearer, and the attempt's own token."""
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    issued = await issue_token(server.database, TokenKind.WORKER, worker="w-9", plan="p", parent=parent)
    http = in_process(server.app, issued.bearer)
    assert (await http.post("/api/v1/presence", json={"incarnation": "i", "hostname": "b"})).status_code == 200
    worker = ControlPlane(http)
    got = await worker.claim(ClaimRequest("c-1", "p", ("scripted",), session=1))
    assert got is not None
    assert got.epoch == 1
    assert "whl_cl" not in repr(got)
    return worker, issued.bearer, got.claim_token


async def beat(server: Server, bearer: str, plan: str = "p", task: str = "T-1", epoch: int = 1) -> int:
    http = in_process(server.app, bearer)
    return (await http.post(HEARTBEAT.format(plan, task, epoch), json={"phase": "agent"})).status_code


async def test_a_claim_token_opens_its_attempt_and_dies_with_it(server: Server) -> None:
    worker, _, token = await at_work(server)
    again = await worker.claim(ClaimRequest("c-1", "p", ("scripted",), session=1))
    assert again is not None
    assert again.claim_token == token
    assert await beat(server, token) == 200
    assert await beat(server, token, task="T-2") == 401
    assert await beat(server, token, epoch=2) == 401
    assert (await in_process(server.app, token).post("/api/v1/claim", json={})).status_code == 401

    await worker.release(again.key, Release("shutdown"))

    assert await beat(server, token) == 401
    second = await worker.claim(ClaimRequest("c-2", "p", ("scripted",), session=1))
    assert second is not None
    assert second.epoch == 2
    assert await beat(server, second.claim_token, epoch=2) == 200
    assert await beat(server, token, epoch=2) == 401


async def test_a_revoked_workers_next_heartbeat_is_refused_and_others_take_its_task(server: Server) -> None:
    _, bearer, token = await at_work(server)
    answer = await (await server.operator()).post("/api/v1/workers/w-9/revoke")

    assert answer.status_code == 200
    assert answer.json()["workers"] == ["w-9"]
    assert answer.json()["released"] == [{"plan": "p", "task": "T-1", "epoch": 1}]
    assert await beat(server, bearer) == 401
    assert await beat(server, token) == 401
    other = await server.control_plane("w-2")
    taken = await other.claim(ClaimRequest("c-9", "p", ("scripted",)))
    assert taken is not None
    assert taken.key.task == "T-1"


async def test_revoking_a_bootstrap_token_shuts_its_workers_out(server: Server) -> None:
    bootstrap = await mint_token(server.database, TokenKind.BOOTSTRAP, "ann")
    _, bearer, _ = await at_work(server, parent=bootstrap.id)

    answer = await (await server.operator()).post(f"/api/v1/tokens/{bootstrap.id}/revoke")

    assert len(answer.json()["tokens"]) == 2
    assert answer.json()["workers"] == ["w-9"]
    assert await beat(server, bearer) == 401


async def test_a_rotated_bearer_goes_on_and_the_old_one_ends_soon(server: Server) -> None:
    _, bearer, _ = await at_work(server)
    rotated = await in_process(server.app, bearer).post("/api/v1/token/rotate")
    assert rotated.status_code == 201
    assert await beat(server, rotated.json()["bearer"]) == 200
    assert await beat(server, bearer) == 200
    async with server.database.connection() as connection:
        left = await connection.fetchval(
            "select max(expires_at) - clock_timestamp() from tokens where worker_id = 'w-9' and expires_at is not null"
        )
        assert timedelta(0) < left <= timedelta(minutes=10)
        await connection.execute("update tokens set expires_at = clock_timestamp() where expires_at is not null")
    server.engine.access.forget()
    assert await beat(server, bearer) == 401
    assert await beat(server, rotated.json()["bearer"]) == 200


async def test_what_an_operator_minted_is_revoked_with_the_operator(server: Server) -> None:
    chief = await issue_token(server.database, TokenKind.OPERATOR, label="chief")
    http = in_process(server.app, chief.bearer)
    minted = await http.post("/api/v1/tokens", json={"kind": "operator", "owner": "deputy"})
    assert minted.status_code == 201, minted.text
    deputy = in_process(server.app, minted.json()["bearer"])
    assert (await deputy.get("/api/v1/plans")).status_code == 200
    told = (await deputy.get("/api/v1/tokens")).json()["tokens"]
    assert [token["owner"] for token in told] == ["deputy", "chief"]
    assert "whl_" not in str(told)

    await (await server.operator()).post(f"/api/v1/tokens/{chief.id}/revoke")

    assert (await deputy.get("/api/v1/plans")).status_code == 401


async def test_what_cannot_be_minted_is_refused_with_a_reason(server: Server) -> None:
    http = await server.operator()
    for body in (
        {"kind": "session", "owner": "ann"},
        {"kind": "claim", "owner": "ann"},
        {"kind": "operator", "owner": " "},
        {"kind": "worker", "owner": "ann"},
        {"kind": "operator", "owner": "ann", "uses": 3},
        {"kind": "bootstrap", "owner": "ann", "lifetime_seconds": 90 * 86_400},
        {"kind": "bootstrap", "owner": "ann", "uses": 0},
    ):
        answer = await http.post("/api/v1/tokens", json=body)
        assert answer.status_code == 409, (body, answer.text)
        assert answer.json()["type"] == "refused"


async def test_a_worker_that_waits_for_orders_hears_at_once_that_it_was_turned_out(server: Server) -> None:
    _, bearer, _ = await at_work(server)
    waiting = asyncio.create_task(
        in_process(server.app, bearer).post("/api/v1/orders", json={"session": 1, "wait_seconds": 20})
    )

    async def waits() -> bool:
        return len(server.engine.orders) == 1

    await eventually(waits)
    # As another server on this database does it: nothing in this process is told.
    await revoke_worker(server.database, "w-9")
    server.engine.wrote()
    async with asyncio.timeout(2):
        told = (await waiting).json()
    assert (told["superseded"], told["revoked"]) == (True, True)
