"""`whilly server` and `whilly login`: processes, signals and sockets as people have them."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Whilly
from tests.control_plane import eventually
from tests.server_process import a_process, server_process
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Plan, Status, TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.read_plans import list_plans
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX here")


class Callers:
    """Clients of the servers, closed at the end of the test."""

    def __init__(self, database: Database, stack: AsyncExitStack) -> None:
        self._database = database
        self._stack = stack

    async def worker(self, address: str, name: str = "w-1") -> httpx2.AsyncClient:
        issued = await issue_token(self._database, TokenKind.WORKER, worker=name)
        return await self._stack.enter_async_context(over_network(address, issued.bearer))

    async def operator(self, address: str) -> httpx2.AsyncClient:
        issued = await issue_token(self._database, TokenKind.OPERATOR)
        return await self._stack.enter_async_context(over_network(address, issued.bearer))


@pytest.fixture
async def callers(database: Database) -> AsyncIterator[Callers]:
    async with AsyncExitStack() as stack:
        yield Callers(database, stack)


async def test_the_printed_link_lets_one_browser_in(database_url: str) -> None:
    async with server_process(WHILLY_DATABASE_URL=database_url) as running, httpx2.AsyncClient() as browser:
        assert (await browser.get(running.address)).status_code == 401
        entered = await browser.get(running.link)
        assert entered.status_code == 200
        cookie = entered.headers["set-cookie"]
        assert cookie.startswith(f"whilly_{running.port}=whl_se_")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert (await browser.get(running.address)).status_code == 200
        assert (await browser.get(running.link)).status_code == 410
        assert not any("Warning" in line for line in running.complained)


@POSIX
async def test_it_drains(database: Database, callers: Callers) -> None:
    """Long polls are answered, streams end, what is being sent is still taken, and nothing is lost."""
    await import_plan(database, Plan("p", "A plan", (TaskSpec("T-1", "One"),)))
    async with server_process(WHILLY_DATABASE_URL=database.url) as running:
        http, people = await callers.worker(running.address), await callers.operator(running.address)
        plane = ControlPlane(http)
        held = await plane.claim(ClaimRequest("c-1", "p", ("scripted",)))
        assert held is not None
        poll = asyncio.create_task(
            http.post("/api/v1/claim", json={"claim_id": "c-2", "plan": "p", "agents": ["x"], "wait_seconds": 30})
        )
        body = b'{"phase": "agent"}'
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        path = "/api/v1/plans/p/tasks/T-1/attempts/1/heartbeat"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {http.headers['Authorization']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body[:5])
        async with people.stream("GET", "/events/stream") as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            began = time.monotonic()
            running.signal(signal.SIGTERM)
            await running.until("Stopping")
            assert (await poll).status_code == 204
            assert [line async for line in lines if line == "event: error"] == []
            writer.write(body[5:])
            assert b" 200 " in await reader.readuntil(b"\r\n")
            writer.transport.abort()
        assert await running.ended() == 0
        assert time.monotonic() - began < 10
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", running.port)


@POSIX
async def test_a_second_signal_ends_it_at_once(database_url: str) -> None:
    async with server_process(WHILLY_DATABASE_URL=database_url) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        running.signal(signal.SIGINT)
        await running.until("Stopping")
        began = time.monotonic()
        running.signal(signal.SIGINT)
        assert await running.ended() == 130
        assert time.monotonic() - began < 2
        writer.transport.abort()
        del reader


@POSIX
async def test_two_servers_work_together_on_one_database(database: Database, callers: Callers) -> None:
    """What is done through one is heard of through the other, also when one of them is killed."""
    await import_plan(
        database, Plan("p", "A plan", (TaskSpec("T-1", "One"), TaskSpec("T-2", "Two", dependencies=("T-1",))))
    )
    async with (
        server_process(WHILLY_DATABASE_URL=database.url) as one,
        server_process(WHILLY_DATABASE_URL=database.url) as other,
    ):
        here = ControlPlane(await callers.worker(one.address, "w-1"))
        there = ControlPlane(await callers.worker(other.address, "w-2"))
        watcher = await callers.operator(other.address)
        async with watcher.stream("GET", "/events/stream?plan=p") as stream, asyncio.timeout(60):
            lines = stream.aiter_lines()
            await anext(lines)
            held = await here.claim(ClaimRequest("c-1", "p", ("scripted",)))
            assert held is not None
            poll = asyncio.create_task(there.claim(ClaimRequest("c-2", "p", ("scripted",), 30)))
            await anext(line async for line in lines if line == "event: CLAIM")
            # An attempt that began at one server goes on at the other: there is no leader.
            moved = ControlPlane(await callers.worker(other.address, "w-1"))
            await moved.finish(held.key, Report(Outcome.COMPLETED, head_commit="c" * 40, files_changed=1))
            second = await poll
            assert second is not None
            assert second.spec.id == "T-2"
            one.signal(signal.SIGKILL)
            await one.ended()
            await there.finish(second.key, Report(Outcome.COMPLETED, head_commit="d" * 40, files_changed=1))
            done = 0
            async for line in lines:
                done += line == "event: COMPLETE"
                if done == 2:
                    break
    assert (await list_plans(database))[0].counts == {Status.DONE: 2}


def test_a_taken_port_is_said_in_a_sentence(whilly: Whilly) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = whilly("server", "--port", port)
    assert (said.code, said.err) == (
        2,
        f"whilly: Port {port} of 127.0.0.1 cannot be used (Address already in use); choose another one with --port.\n",
    )


def test_an_old_schema_is_refused_with_the_command_that_mends_it(whilly: Whilly, empty_database_url: str) -> None:
    said = whilly("server", "--port", 0, WHILLY_DATABASE_URL=empty_database_url)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "`whilly db upgrade`" in said.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--host", "no.such.name.invalid"), "--host"),
        (("--tls-key", "key.pem"), "--tls-cert"),
        (("--tls-cert", "/nowhere/cert.pem"), "PEM"),
        (("--allow-host", "https://x"), "--allow-host"),
        (("--public-url", "whilly.example.org"), "--public-url"),
        (("--trust-proxy", "proxy"), "10.0.0.0/8"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(whilly: Whilly, arguments: tuple[str, ...], word: str) -> None:
    said = whilly("server", "--port", 0, *arguments)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert word in said.err


@POSIX
async def test_everywhere_without_tls_is_warned_about_and_named(database_url: str) -> None:
    arguments = ("--host", "0.0.0.0", "--allow-host", "whilly.example.org")
    async with server_process(*arguments, WHILLY_DATABASE_URL=database_url) as running, httpx2.AsyncClient() as http:
        assert running.address.startswith("http://whilly.example.org:")
        await running.until("without TLS everybody between can read tokens")
        for host, status in (("whilly.example.org", 200), ("127.0.0.1", 200), ("evil.example", 421)):
            answer = await http.get(f"http://127.0.0.1:{running.port}/health/live", headers={"Host": host})
            assert answer.status_code == status


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for localhost that nobody else trusts, and its key."""
    place = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run([*command, "-keyout", place[1], "-out", place[0], *names], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make a certificate here")
    return place


async def test_with_a_certificate_it_speaks_https_and_its_cookie_stays_with_the_host(
    database_url: str, certificate: tuple[Path, Path]
) -> None:
    arguments = ("--host", "localhost", "--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1]))
    trusted = ssl.create_default_context(cafile=certificate[0])
    async with (
        server_process(*arguments, WHILLY_DATABASE_URL=database_url) as running,
        httpx2.AsyncClient(verify=trusted) as browser,
    ):
        assert running.address.startswith("https://localhost:")
        cookie = (await browser.get(running.link)).headers["set-cookie"]
        assert cookie.startswith("__Host-whilly=whl_se_")
        assert {"HttpOnly", "SameSite=strict", "Path=/", "Secure"} <= {part.strip() for part in cookie.split(";")}
        assert (await browser.get(running.address)).status_code == 200
        assert not any("Warning" in line for line in running.complained)


async def test_a_proxy_is_believed_only_when_it_is_named(database_url: str) -> None:
    forwarded = {"X-Forwarded-Proto": "https", "Host": "whilly.example.org"}
    public = ("--public-url", "https://whilly.example.org")
    for trust, name in (((), "whilly_80="), (("--trust-proxy", "127.0.0.1"), "__Host-whilly=")):
        async with (
            server_process(*public, *trust, WHILLY_DATABASE_URL=database_url) as running,
            httpx2.AsyncClient() as browser,
        ):
            assert running.address == "https://whilly.example.org"
            await running.until("Ctrl-C ends")
            port = _port_of(running.process.pid)
            code = running.link.rpartition("/")[2]
            entered = await browser.get(f"http://127.0.0.1:{port}/login/{code}", headers=forwarded)
            assert entered.headers["set-cookie"].startswith(name)


def _port_of(pid: int) -> int:
    import psutil

    return next(each.laddr.port for each in psutil.Process(pid).net_connections("tcp") if each.status == "LISTEN")


@POSIX
async def test_another_server_can_run_the_application(database: Database, callers: Callers) -> None:
    """From the environment alone, and its streams do not keep it from ending."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ("-m", "uvicorn", "--factory", "whilly.server.app:create_app", "--port", str(port))
    async with a_process(*arguments, WHILLY_DATABASE_URL=database.url) as running:
        await running.until("Uvicorn running")
        address = f"http://127.0.0.1:{port}"
        people = await callers.operator(address)
        assert (await people.get("/health")).json()["status"] == "ok"
        async with people.stream("GET", "/events/stream") as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            running.signal(signal.SIGTERM)
            assert [line async for line in lines if line == "event: error"] == []
        await running.ended(10)


async def test_a_link_from_the_database_of_a_running_server(whilly: Whilly, database_url: str, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    async with server_process(WHILLY_DATABASE_URL=database_url, WHILLY_DATA_DIR=data) as running:
        said = await asyncio.to_thread(whilly, "login", WHILLY_DATA_DIR=data)
        assert (said.code, said.err) == (0, "")
        assert said.out.startswith(f"{running.address}/login/")
        async with httpx2.AsyncClient() as browser:
            assert (await browser.get(said.out.strip())).status_code == 200
        running.signal(signal.SIGTERM)
        assert await running.ended() == 0
    said = await asyncio.to_thread(whilly, "login", WHILLY_DATA_DIR=data)
    assert said.code == 2
    assert "whilly server" in said.err


async def test_a_link_from_a_server_for_an_operator_ends_with_the_operator(
    whilly: Whilly, database: Database, tmp_path: Path
) -> None:
    from whilly.operations.revoke_token import revoke_token

    issued = await issue_token(database, TokenKind.OPERATOR, label="olga")
    file = tmp_path / "token"
    file.write_text(issued.bearer, encoding="utf-8")
    async with server_process(WHILLY_DATABASE_URL=database.url) as running, httpx2.AsyncClient() as browser:
        arguments = ("login", "--connect", running.address, "--token-file", file)
        # This command needs no database.
        nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
        said = await asyncio.to_thread(whilly, *arguments, WHILLY_DATABASE_URL=nowhere)
        assert (said.code, said.err) == (0, "")
        assert (await browser.get(said.out.strip())).status_code == 200
        assert (await browser.get(running.address)).status_code == 200
        unused = (await asyncio.to_thread(whilly, *arguments)).out.strip()
        await revoke_token(database, issued.id)

        async def out() -> bool:
            return (await browser.get(running.address)).status_code == 401

        await eventually(out)
        assert (await browser.get(unused)).status_code == 410
        said = await asyncio.to_thread(whilly, *arguments)
        assert (said.code, said.out) == (2, "")
        assert "makes no link" in said.err


@POSIX
async def test_without_a_database_of_its_own_it_uses_the_embedded_one() -> None:
    from whilly.store import embedded

    # Not in pytest's folder, which other accounts cannot enter: root's embedded server has one of its own.
    with tempfile.TemporaryDirectory(prefix="whilly-test-", ignore_cleanup_errors=True) as folder:
        async with server_process(WHILLY_DATABASE_URL="", WHILLY_DATA_DIR=folder) as running:
            async with httpx2.AsyncClient() as http:
                assert (await http.get(f"{running.address}/health/ready")).status_code == 200
            running.signal(signal.SIGTERM)
            assert await running.ended() == 0

        async def stopped() -> bool:
            return await asyncio.to_thread(embedded.served, Path(folder)) is None

        await eventually(stopped, 20)
