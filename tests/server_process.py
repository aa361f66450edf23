"""`whilly server` as a process of its own."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

LINK = re.compile(r"(https?://\S+)/login/(\S+)")


@dataclass
class ServerProcess:
    """A running server: what it said, where it is."""

    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list)
    complained: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The one-time link."""
        return next(found[0] for line in self.said if (found := LINK.search(line)))

    @property
    def address(self) -> str:
        return next(found[1] for line in self.said if (found := LINK.search(line)))

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = 20) -> int:
        """The exit code."""
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def until(self, text: str, seconds: float = 60) -> None:
        """Until it has said so, to either stream."""
        async with asyncio.timeout(seconds):
            while not any(text in line for line in (*self.said, *self.complained)):
                if self.process.returncode is not None:
                    raise AssertionError(f"it ended: {self.said} {self.complained}")
                await asyncio.sleep(0.02)


@asynccontextmanager
async def server_process(*arguments: str, **environment: str) -> AsyncIterator[ServerProcess]:
    """Start it, by default on a free port; it is gone at the end, if need be by force."""
    async with a_process("-m", "whilly.cli.main", "server", "--port", "0", *arguments, **environment) as running:
        await running.until("Ctrl-C ends the server")
        yield running


@asynccontextmanager
async def a_process(*arguments: str, **environment: str) -> AsyncIterator[ServerProcess]:
    """Python with these arguments."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )
    running = ServerProcess(process)
    assert process.stdout is not None
    assert process.stderr is not None
    reading = [
        asyncio.create_task(_read(process.stdout, running.said)),
        asyncio.create_task(_read(process.stderr, running.complained)),
    ]
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await asyncio.gather(*reading)


async def _read(stream: asyncio.StreamReader, lines: list[str]) -> None:
    while line := await stream.readline():
        lines.append(line.decode().rstrip())
