"""`whilly-worker` follows its control plane through a file and a table, past an impostor that gets nothing."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.builders import a_plan, a_task, statuses
from tests.worker.until import until
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.published_address import publish_address
from whilly.operations.set_repository import set_repository
from whilly.server.app import create_app
from whilly.store.database import Database


@asynccontextmanager
async def somewhere(app: Starlette) -> AsyncIterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        running = asyncio.create_task(server.serve([listening]))
        await until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            await running


class Impostor:
    """Relays nothing, answers everything, and keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.app = Starlette(routes=[Route("/{rest:path}", self._answer, methods=["GET", "POST"])])

    @property
    def bearers(self) -> list[str]:
        return [bearer for _, bearer in self.requests if bearer]

    async def _answer(self, request: Request) -> Response:
        self.requests.append((request.url.path, request.headers.get("authorization", "")))
        return Response(b"{}", 200, {"Whilly-Protocol": "1"}, media_type="application/json")


@pytest.mark.parametrize("source", ["file", "postgres"])
async def test_a_worker_follows_past_an_impostor(
    database: Database, database_url: str, repository: Path, tmp_path: Path, source: str
) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    await set_repository(database, "p", str(repository))
    token = (await issue_token(database, TokenKind.WORKER, worker="w1")).bearer
    file, impostor, app = tmp_path / "url.txt", Impostor(), create_app(database)

    async def publish(address: str) -> None:
        if source == "file":
            file.write_text(address + "\n", encoding="utf-8")
        else:
            await publish_address(database_url, address)

    async with (
        app.router.lifespan_context(app),
        somewhere(impostor.app) as trap,
        somewhere(app) as first,
        httpx2.AsyncClient(base_url=first) as http,
    ):
        key = (await http.get("/api/v1/identity")).json()["public_key"]
        await publish(trap)
        async with following(source, file, database_url, tmp_path, token, key) as worker:
            await until(lambda: len(impostor.requests) > 1, "the impostor is asked to prove itself")
            assert await statuses(database) == {"A": "PENDING", "B": "PENDING"}
            await publish(first)

            async def done() -> bool:
                return set((await statuses(database)).values()) == {"DONE"}

            await until(done)
            worker.terminate()
            _, said = await asyncio.wait_for(worker.communicate(), 15)
    assert {path for path, _ in impostor.requests} == {"/api/v1/identity/proof"}
    assert impostor.bearers == []
    assert f"Whoever answers at {trap} is not the control plane, and gets no token" in said.decode()
    assert f"The control plane has moved to {first}." in said.decode()


async def test_also_an_address_that_never_changes_has_to_prove_itself_to_who_knows_the_key(tmp_path: Path) -> None:
    impostor = Impostor()
    async with (
        somewhere(impostor.app) as trap,
        following("static", tmp_path, "", tmp_path, "whl_wk_x", f"ed25519:{'00' * 32}", "--connect", trap) as worker,
    ):
        await until(lambda: len(impostor.requests) > 1)
        worker.terminate()
        await asyncio.wait_for(worker.wait(), 15)
    assert impostor.bearers == []


async def test_without_a_key_no_new_address_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "url.txt").write_text("http://127.0.0.1:1", encoding="utf-8")
    async with following("file", tmp_path / "url.txt", "", tmp_path, "whl_wk_x", "") as worker:
        _, said = await asyncio.wait_for(worker.communicate(), 15)
    assert worker.returncode == 2
    assert said.decode().startswith("whilly-worker: The control plane's key is not known here")
    assert len(said.decode().splitlines()) == 1


@asynccontextmanager
async def following(
    source: str, file: Path, database_url: str, folder: Path, token: str, key: str, *more: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "whilly.cli.worker_main", "--plan", "p", "--agent", "scripted", "--token", token,
        *(["--control-key", key] if key else []), *more,
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env={
            **os.environ,
            "WHILLY_DATA_DIR": str(folder / "data"),
            "WHILLY_DATABASE_URL": database_url,
            "WHILLY_FUNNEL_URL_SOURCE": source,
            "WHILLY_FUNNEL_URL_FILE": str(file),
            "WHILLY_FUNNEL_POLL_SECONDS": "0.2",
        },
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
