"""A control plane that moves, and an impostor that sits where it was: real servers, and not one bearer too many."""

import asyncio
import hashlib
import hmac
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.worker.until import until
from whilly.client.connect import network, over_moving_network
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Unreachable
from whilly.client.moving import MovingTransport, NotProven, follow
from whilly.wire.protocol import HEADER
from whilly.wire.work import ClaimRequest

SECRET = secrets.token_bytes(32)
ASK = ClaimRequest("c", "p", ("scripted",), 20)


def proof(address: str, nonce: str) -> str:
    return hmac.new(SECRET, f"{nonce} {address}".encode(), hashlib.sha256).hexdigest()


async def prove(client: httpx2.AsyncClient, address: str) -> None:
    nonce = secrets.token_hex(16)
    said = (await client.post("/prove", json={"address": address, "nonce": nonce})).text
    if not hmac.compare_digest(said, proof(address, nonce)):
        raise NotProven("its proof is wrong.")


@dataclass
class Place:
    """Somebody who answers: the control plane, or an impostor."""

    honest: bool
    bearers: list[str] = field(default_factory=list)
    proofs: int = 0
    speaks: bool = True
    address: str = ""
    held: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{rest:path}", self.answer, methods=["POST"])])

    async def answer(self, request: Request) -> Response:
        if authorization := request.headers.get("authorization"):
            self.bearers.append(authorization)
        headers = {HEADER: "1"} if self.speaks else {}
        if request.url.path == "/prove":
            self.proofs += 1
            asked = await request.json()
            said = proof(asked["address"], asked["nonce"]) if self.honest else "believe me"
            return Response(said, headers=headers)
        if not self.held.is_set() and request.url.path.endswith("/claim"):
            await self.held.wait()
        if not self.speaks:
            return JSONResponse({"from": "something in between"}, 502)
        return Response(status_code=204, headers=headers)


@asynccontextmanager
async def answering(*, honest: bool) -> AsyncIterator[Place]:
    place = Place(honest)
    place.held.set()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(place.app(), log_level="warning", lifespan="off"))
        running = asyncio.create_task(server.serve([listening]))
        await until(lambda: server.started)
        place.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield place
        finally:
            place.held.set()
            server.should_exit = server.force_exit = True
            await running


@asynccontextmanager
async def moving() -> AsyncIterator[tuple[MovingTransport, ControlPlane, list[str]]]:
    said: list[str] = []
    transport = MovingTransport(network(), prove, tell=said.append)
    async with over_moving_network(transport, "whl_wk_secret") as http:
        yield transport, ControlPlane(http), said


async def test_the_bearer_goes_to_an_address_that_has_proved_itself_once() -> None:
    async with answering(honest=True) as real, moving() as (transport, plane, _):
        with pytest.raises(Unreachable, match="not known yet"):
            await plane.claim(ASK)
        transport.move(real.address)
        for _again in range(3):
            assert await plane.claim(ASK) is None
        assert (real.proofs, real.bearers) == (1, ["Bearer whl_wk_secret"] * 3)


async def test_an_impostor_gets_no_bearer_however_often_it_is_asked() -> None:
    async with answering(honest=False) as impostor, moving() as (transport, plane, said):
        transport.move(impostor.address)
        for _again in range(5):
            with pytest.raises(Unreachable, match="has not proved to be the control plane"):
                await plane.claim(ASK)
        assert impostor.proofs == 5
        assert impostor.bearers == []
        assert said == [
            f"Whoever answers at {impostor.address} is not the control plane, and gets no token: its proof is wrong."
        ]


async def test_a_request_that_waits_at_the_old_address_is_given_up_and_goes_to_the_new_one() -> None:
    async with answering(honest=True) as old, answering(honest=True) as new, moving() as (transport, plane, said):
        transport.move(old.address)
        old.held.clear()
        waiting = asyncio.create_task(plane.claim(ASK, within=10))
        await until(lambda: old.bearers)
        transport.move(new.address)
        assert await asyncio.wait_for(waiting, 5) is None
        assert new.bearers == ["Bearer whl_wk_secret"]
        assert said == [f"The control plane has moved to {new.address}."]


async def test_after_an_answer_of_something_in_between_the_address_has_to_prove_itself_anew() -> None:
    async with answering(honest=True) as place, moving() as (transport, plane, _):
        transport.move(place.address)
        assert await plane.claim(ASK) is None
        place.speaks, place.honest = False, False
        with pytest.raises(Unreachable, match="502"):
            await plane.claim(ASK)
        sent = len(place.bearers)
        with pytest.raises(Unreachable, match="has not proved"):
            await plane.claim(ASK)
        assert len(place.bearers) == sent, "somebody else has the name now, and gets nothing"
        place.speaks, place.honest = True, True
        assert await plane.claim(ASK) is None


async def test_a_bad_address_is_told_once_and_a_good_one_followed() -> None:
    found: list[str | None] = [None]
    said: list[str] = []

    async def read() -> str | None:
        if found[0] == "bad":
            raise ValueError("that is no address")
        return found[0]

    transport = MovingTransport(network(), prove, tell=said.append)
    following = asyncio.create_task(follow(read, transport, every=0.01, tell=said.append))
    found[0] = "bad"
    await until(lambda: said)
    found[0] = "http://127.0.0.1:1"
    await until(lambda: transport.address == "http://127.0.0.1:1")
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await transport.aclose()
    assert said == ["The control plane's address cannot be read: that is no address"]
