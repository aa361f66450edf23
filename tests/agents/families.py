"""What process tests look at: who is alive, by an environment variable or by a port."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from whilly.agents.command import Command

PLAIN = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def shell(script: str, cwd: Path, environment: Mapping[str, str] = {}) -> Command:
    """A script for /bin/sh."""
    return Command(("/bin/sh", "-c", script), cwd, {**PLAIN, **environment})


def python(
    program: str, cwd: Path, *arguments: str, environment: Mapping[str, str] = {}, stdin: bytes = b""
) -> Command:
    """A program for this Python, without start-up costs."""
    return Command((sys.executable, "-I", "-S", "-c", program, *arguments), cwd, {**PLAIN, **environment}, stdin)


def alive(cookie: str) -> list[str]:
    """Command lines of all processes whose environment holds the cookie. Linux only."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if cookie.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def listening(port: int) -> bool:
    """Whether something accepts connections on this port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def eventually(fact: Callable[[], object], seconds: float = 10) -> None:
    """Wait until it is so; a test that waits in vain fails."""
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until, "it did not become so in time"
        await asyncio.sleep(0.01)


def wait_until(fact: Callable[[], object], seconds: float = 10) -> None:
    """The same outside of a loop."""
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until, "it did not become so in time"
        time.sleep(0.01)
