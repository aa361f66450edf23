"""A control plane as a process of its own, as `whilly server` runs it."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from bench.caller import Caller
from bench.commands import WHILLY
from bench.processes import cpu_of

STARTS_WITHIN = 60.0


class ServerProcess:
    """One running server: where it is, and what it uses."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.port = port
        self._process = psutil.Process(process.pid)

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        return cpu_of(self._process.pid)

    def memory(self) -> float:
        """MiB that it holds in memory now."""
        return float(self._process.memory_info().rss) / 2**20


@asynccontextmanager
async def control_plane(url: str, place: Path) -> AsyncIterator[ServerProcess]:
    """Whilly's own server on the database at `url`."""
    port = free_port()
    command = (*WHILLY, "server", "--port", str(port))
    environment = {
        "WHILLY_DATABASE_URL": url,
        "WHILLY_DATA_DIR": str(place),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    async with server(command, environment, port, place / f"server-{port}.log") as running:
        yield running


@asynccontextmanager
async def server(
    command: Sequence[str], environment: Mapping[str, str], port: int, log: Path
) -> AsyncIterator[ServerProcess]:
    """Any server with a /health/live, until the end of the block. Raises RuntimeError when it does not start."""
    process = _started(command, environment, log)
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not await _lives(port):
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace")[-2_000:]
                raise RuntimeError(f"{' '.join(command)} did not start: {said}")
            await asyncio.sleep(0.05)
        yield ServerProcess(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, 20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _started(command: Sequence[str], environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("WHILLY_", "PG", "PYTHON"))}
    with log.open("wb") as written:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=written, stderr=written, env={**inherited, **environment}
        )


def free_port() -> int:
    """A port that nobody used a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


async def _lives(port: int) -> bool:
    try:
        async with Caller.to(port) as caller:
            return (await caller.ask("GET", "/health/live"))[0] == 200
    except (OSError, asyncio.IncompleteReadError):
        return False
