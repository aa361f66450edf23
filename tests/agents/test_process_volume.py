"""Output without end, in flat memory; a machine without room for another process."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.families import PLAIN, shell
from whilly.agents import supervised
from whilly.agents.capture import Capture
from whilly.agents.command import CannotStart
from whilly.agents.process import run_process

ROOT = Path(__file__).parents[2]

FLOOD = """
import asyncio, resource, sys, time
from pathlib import Path
from whilly.agents.capture import Capture
from whilly.agents.command import Command
from whilly.agents.lines import Line, Lines
from whilly.agents.process import run_process

taken = []
async def take(line: Line) -> bool:
    taken.append((len(line.text), line.size, line.whole))
    return True

async def main():
    command = Command(("/bin/sh", "-c", sys.argv[1]), Path("/tmp"), {"PATH": "/usr/bin:/bin"})
    await run_process(Command(("/bin/true",), Path("/tmp"), {}), Capture())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capture = Capture()
    began = time.monotonic()
    result = await run_process(command, capture if sys.argv[2] == "bytes" else Lines(take))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(result.exit_code, capture.size, grown // 1024, round(time.monotonic() - began, 2), taken[-2:])

asyncio.run(main())
"""


def flood(script: str, kind: str) -> tuple[int, int, int, float, str]:
    """Exit code, bytes captured, growth of resident memory in MiB, seconds, last lines."""
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, script, kind], cwd=ROOT, env=PLAIN, capture_output=True, text=True, check=True
    )
    code, size, grown, seconds, lines = done.stdout.split(" ", 4)
    return int(code), int(size), int(grown), float(seconds), lines.strip()


@pytest.mark.slow
def test_hundreds_of_megabytes_flow_through() -> None:
    code, size, grown, seconds, _ = flood("head -c 500000000 /dev/zero", "bytes")
    assert (code, size) == (0, 500_000_000)
    assert grown < 30
    assert 500 / seconds > 85, "5 GB have to pass within a minute"


@pytest.mark.slow
def test_a_line_of_a_hundred_mebibytes() -> None:
    code, _, grown, _, lines = flood("head -c 104857600 /dev/zero | tr '\\0' x; echo; echo after", "lines")
    assert code == 0
    assert lines == "[(16777216, 104857600, False), (5, 5, True)]"
    assert grown < 100


CROWDED = """
import asyncio, os, resource, subprocess, sys, threading
from pathlib import Path
from whilly.agents.capture import Capture
from whilly.agents.command import CannotStart, Command
from whilly.agents.process import run_process

room, crowd = int(sys.argv[1]), []
resource.setrlimit(resource.RLIMIT_NPROC, (room, room))
try:
    while True:
        crowd.append(subprocess.Popen(["/bin/sleep", "60"]))
except BlockingIOError:
    pass

def leave():
    for process in crowd:
        process.kill()
        process.wait()

async def main():
    if sys.argv[2] == "leave":
        asyncio.get_running_loop().call_later(0.5, leave)
    try:
        print((await run_process(Command(("/bin/true",), Path("/"), {}), Capture())).exit_code)
    except CannotStart as error:
        print(error)
    leave()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() == 0, reason="the limit does not bind root")
@pytest.mark.parametrize(("crowd", "answer"), [("leave", "0"), ("stay", "no room for another process")])
def test_a_machine_without_room_for_another_process(crowd: str, answer: str) -> None:
    """The kernel says EAGAIN: it is tried again for some seconds."""
    ours = sum(1 for entry in Path("/proc").iterdir() if entry.name.isdigit() and owner(entry) == os.getuid())
    done = subprocess.run(
        [sys.executable, "-c", CROWDED, str(ours + 6), crowd],
        cwd=ROOT,
        env=PLAIN,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert answer in done.stdout, done.stderr


def owner(entry: Path) -> int:
    try:
        return entry.stat().st_uid
    except OSError:
        return -1


@pytest.mark.parametrize(("failures", "fits"), [(2, True), (9, False)])
async def test_patience_with_a_crowded_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, fits: bool
) -> None:
    left = [BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")] * failures

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            if left:
                self.returncode = 0
                self._child_created = False
                raise left.pop()
            super().__init__(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(supervised, "SPAWN_WAITS", (0.01, 0.01, 0.01))
    if fits:
        assert (await run_process(shell("exit 3", tmp_path), Capture())).exit_code == 3
    else:
        with pytest.raises(CannotStart, match="no room for another process"):
            await run_process(shell("exit 3", tmp_path), Capture())
