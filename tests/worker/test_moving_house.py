"""The control plane moves while an agent works: same worker, same attempt, one result."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette

from tests.builders import a_plan, a_task
from tests.worker.control_room import WORKER, control_room
from tests.worker.repository import new_repository
from tests.worker.shell_agent import ShellAgent
from tests.worker.until import until
from whilly.cli.address_source import AddressSource
from whilly.cli.way import way_to
from whilly.client.control_plane import ControlPlane
from whilly.client.moving import NotProven
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.server.app import create_app
from whilly.store.database import Database
from whilly.worker.equipment import Equipment
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop


@asynccontextmanager
async def at_an_address(app: Starlette) -> AsyncIterator[str]:
    """The application on a port of its own, which is torn away in the end."""
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


async def test_an_attempt_goes_on_at_the_new_address(database: Database, tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository")
    token = (await issue_token(database, TokenKind.WORKER, worker=WORKER)).bearer
    script = f"touch {tmp_path}/begun; while [ ! -f {tmp_path}/go ]; do sleep 0.05; done; echo done > T1.txt"
    said: list[str] = []
    where = ""
    honest: set[str] = set()

    async def read() -> str | None:
        return where or None

    async def prove(_: httpx2.AsyncClient, address: str) -> None:
        if address not in honest:
            raise NotProven("its proof is wrong.")

    app = create_app(database)
    async with (
        control_room(database) as room,
        app.router.lifespan_context(app),
        way_to("", token, source=AddressSource(read, 0.05), key="key", prove=prove, tell=said.append) as way,
    ):
        await room.submit(a_plan(a_task("T1")), repository.path)
        equipment = Equipment(
            control_plane=ControlPlane(way.http),
            address=way.control_plane,
            worker=WORKER,
            plan="p",
            runners={"shell": ShellAgent({"*": script})},
            workspaces=tmp_path / "workspaces",
            state=tmp_path / "state",
            environment=os.environ,
            tell=said.append,
        )
        stop = Stop()
        working = asyncio.create_task(Worker(equipment).run(stop))
        async with at_an_address(app) as where:
            honest.add(where)
            await until((tmp_path / "begun").exists, str(said))
        async with at_an_address(app) as where:
            # Until it has proved itself the worker has nobody to talk to.
            await until(lambda: any("is not the control plane" in each for each in said))
            honest.add(where)
            (tmp_path / "go").touch()

            async def done() -> bool:
                return bool((await room.task("T1"))["status"] == "DONE")

            await until(done, str(said))
            stop.set()
            await working
        attempts = await room.attempts("T1")
    assert [(each["epoch"], each["worker_id"], each["outcome"]) for each in attempts] == [(1, WORKER, "completed")]
    assert repository.file("whilly/p/T1", "T1.txt") == "done"
