"""The keeper of a tunnel, with a program in the place of ssh that prints what localhost.run prints."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.worker.until import until
from whilly.operations.published_address import read_published_address

FUNNEL = Path(__file__).parents[2] / "scripts" / "funnel"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it is for POSIX")

SSH = """#!/bin/sh
echo run >> "$0.runs"
printf '%s\\n' "$*" > "$0.arguments"
n=$(wc -l < "$0.runs" | tr -d ' ')
echo "Welcome to localhost.run! Follow https://localhost.run/docs and https://admin.localhost.run/ for more."
echo "ab$n.lhr.life tunneled with tls termination, https://ab$n.lhr.life"
while [ ! -f "$0.die$n" ]; do sleep 0.05; done
echo "Connection to localhost.run closed by remote host."
exit 255
"""


@asynccontextmanager
async def funnel(
    path: Path, *arguments: object, ssh: str = "", **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    path.write_text(SSH.replace("\n", f"\n{ssh}", 1), encoding="utf-8")
    path.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        sys.executable, FUNNEL, "--ssh", path, "--retry", "0.1", *map(str, arguments),
        stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(FUNNEL.parents[1]), **environment},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 10)


def alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def written(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


async def test_the_address_is_written_and_written_anew_when_the_tunnel_dies(tmp_path: Path) -> None:
    ssh, file = tmp_path / "ssh", tmp_path / "funnel" / "url.txt"
    async with funnel(ssh, "--file", file, "--local", "localhost:8123") as process:
        await until(lambda: written(file) == "https://ab1.lhr.life\n")
        assert "-R 80:localhost:8123 nokey@localhost.run" in written(Path(f"{ssh}.arguments"))
        Path(f"{ssh}.die1").touch()
        await until(lambda: written(file) == "https://ab2.lhr.life\n")
        assert [each.name for each in file.parent.iterdir()] == ["url.txt"]
        tunnel = psutil.Process(process.pid).children()
        assert len(tunnel) == 1
        process.send_signal(signal.SIGTERM)
        _, said = await asyncio.wait_for(process.communicate(), 10)
    assert process.returncode == 0
    assert not tunnel[0].is_running()
    assert "the tunnel ended with exit code 255; it is started anew" in said.decode()
    assert "Traceback" not in said.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
async def test_the_tunnel_ends_with_its_keeper(tmp_path: Path, number: signal.Signals) -> None:
    if number is signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent was killed")
    ssh, file = tmp_path / "ssh", tmp_path / "url.txt"
    async with funnel(ssh, "--file", file) as process:
        await until(lambda: written(file) == "https://ab1.lhr.life\n")
        tunnel = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        await asyncio.wait_for(process.wait(), 10)
    await until(lambda: not any(alive(each) for each in tunnel))


async def test_a_tunnel_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    ssh, file = tmp_path / "ssh", tmp_path / "url.txt"
    async with funnel(ssh, "--file", file, ssh="trap '' TERM\n") as process:
        await until(lambda: written(file) == "https://ab1.lhr.life\n")
        tunnel = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0
    assert not any(alive(each) for each in tunnel)


async def test_the_table_gets_it_as_well(database_url: str, tmp_path: Path) -> None:
    async def published() -> bool:
        return await read_published_address(database_url) == "https://ab1.lhr.life"

    assert await read_published_address(database_url) is None
    async with funnel(tmp_path / "ssh", "--table", WHILLY_DATABASE_URL=database_url):
        await until(published)


async def test_a_missing_program_is_said_and_tried_again(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    async with funnel(ssh, "--file", tmp_path / "url") as process:
        ssh.unlink(missing_ok=True)
        assert process.stderr is not None
        Path(f"{ssh}.die1").touch()
        async with asyncio.timeout(10):
            while b"cannot be run: No such file" not in (line := await process.stderr.readline()):
                assert line
