"""`whilly-worker` against a control plane on a real socket."""

import asyncio
import os
import re
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.builders import a_plan, a_task, statuses
from tests.cli.conftest import git
from whilly.cli.worker_main import checked_address
from whilly.core.errors import BadSetting
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.set_repository import set_repository
from whilly.server.app import create_app
from whilly.server.negotiation import check_protocol
from whilly.server.serve import serving
from whilly.store.database import Database
from whilly.wire.protocol import VERSION


async def started(*arguments: object) -> asyncio.subprocess.Process:
    """The command, running, with all that it says in one stream."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "whilly.cli.worker_main", *map(str, arguments),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env={**os.environ},
    )  # fmt: skip


async def worker(*arguments: object) -> tuple[int, str]:
    """Run the command to its end."""
    process = await started(*arguments)
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode()


async def test_a_worker_does_one_task_over_the_network(database: Database, repository: Path, tmp_path: Path) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    await set_repository(database, "p", str(repository))
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        token = tmp_path / "token"
        issued = await issue_token(database, TokenKind.WORKER, worker="w1", plan="p", label="here", lifetime=None)
        token.write_text(issued.bearer + "\n", encoding="utf-8")

        code, out = await worker(
            "--connect", address, "--token-file", token, "--plan", "p", "--agent", "scripted", "--once"
        )

    assert code == 0, out
    assert re.search(r"A: attempt 1 begins\n.*A: completed, .*the task is DONE", out)
    assert await statuses(database) == {"A": "DONE", "B": "PENDING"}
    assert git(repository, "rev-parse", "whilly/p/A")


async def test_what_a_worker_does_is_said_while_it_works(database: Database, repository: Path, tmp_path: Path) -> None:
    await import_plan(database, a_plan(a_task("A")))
    await set_repository(database, "p", str(repository))
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        issued = await issue_token(database, TokenKind.WORKER, worker="w1", plan="p")
        process = await started("--connect", address, "--token", issued.bearer, "--plan", "p", "--agent", "scripted")
        assert process.stdout is not None
        said = b""
        try:
            async with asyncio.timeout(60):
                while b"the task is DONE" not in said:
                    line = await process.stdout.readline()
                    assert line, said
                    said += line
        finally:
            process.terminate()
            await asyncio.wait_for(process.communicate(), 30)
    assert f"Worker w1 works on plan p of {address}.".encode() in said.splitlines()[0]
    assert process.returncode == 0


async def test_a_wrong_token_is_said_in_one_sentence(database: Database) -> None:
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        code, out = await worker("--connect", address, "--token", "whl_wk_wrong", "--plan", "p", "--agent", "scripted")

    assert code == 2
    assert "refuses this worker" in out
    assert "Traceback" not in out


async def test_a_server_that_is_two_releases_ahead_is_worked_for(
    database: Database, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whilly.server.route.check_protocol", partial(check_protocol, version=VERSION + 2))
    await import_plan(database, a_plan(a_task("A")))
    await set_repository(database, "p", str(repository))
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        issued = await issue_token(database, TokenKind.WORKER, worker="w1")
        code, out = await worker(
            "--connect", address, "--token", issued.bearer, "--plan", "p", "--agent", "scripted", "--once"
        )

    assert code == 0, out
    assert await statuses(database) == {"A": "DONE"}


@pytest.mark.parametrize(
    ("server", "said"),
    [(VERSION + 3, "it is more than two releases older. Install whilly"), (VERSION - 1, "Upgrade the server first")],
)
async def test_a_server_of_another_time_refuses_in_one_sentence(
    database: Database, monkeypatch: pytest.MonkeyPatch, server: int, said: str
) -> None:
    monkeypatch.setattr("whilly.server.route.check_protocol", partial(check_protocol, version=server))
    await import_plan(database, a_plan(a_task("A")))
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        issued = await issue_token(database, TokenKind.WORKER, worker="w1")
        code, out = await worker("--connect", address, "--token", issued.bearer, "--plan", "p", "--agent", "scripted")

    assert code == 2, out
    assert said in out
    assert len([line for line in out.splitlines() if line.strip()]) == 1, out
    assert await statuses(database) == {"A": "PENDING"}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "--connect"),
        ("ftp://host", "--connect"),
        ("https://host/path", "nothing more"),
        ("https://user@host", "nothing more"),
        ("http://example.org", "--insecure"),
        ("http://127.0.0.1.example.org", "--insecure"),
    ],
)
def test_an_address_that_is_none_or_not_safe_is_refused(address: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        checked_address(address, insecure=False)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000", "http://localhost:1/", "http://[::1]:8", "https://x.org"])
def test_a_safe_address_is_taken(address: str) -> None:
    assert checked_address(address, insecure=False) == address.rstrip("/")
