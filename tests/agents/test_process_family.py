"""Nothing of a run survives it: not a time-out, not a stop, not a normal end, not the worker's own death."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path

import pytest

from tests.agents.families import PLAIN, alive, eventually, free_port, listening, python, shell, wait_until
from whilly.agents import supervised
from whilly.agents.capture import Capture
from whilly.agents.command import Ended, Limits
from whilly.agents.lines import Line, Lines
from whilly.agents.process import run_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

NASTY = """
import os, signal, socket, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

def daemon(work):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            work()
        os._exit(0)
    os.wait()

def serve():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(sys.argv[1])))
    server.listen()
    open("serving", "w").close()
    while True:
        server.accept()

def sleep():
    while True:
        time.sleep(60)

daemon(serve)
daemon(sleep)
subprocess.Popen(["setsid", "sleep", "9999"])
subprocess.Popen(["setsid", "env", "-i", "sleep", "9998"])
subprocess.Popen(["sh", "-c", "trap '' TERM; nohup sleep 9997 >/dev/null 2>&1 & sleep 9996"])
while not os.path.exists("serving"):
    time.sleep(0.01)
open("ready", "w").close()
print("ready", flush=True)
if sys.argv[2] == "stay":
    sleep()
while not os.path.exists("seen"):
    time.sleep(0.01)
"""
SLEEPERS = (b"9999", b"9998", b"9997", b"9996")


@pytest.fixture
def cookie() -> str:
    return f"COOKIE_{uuid.uuid4().hex}"


def sleepers(folder: Path) -> list[str]:
    """The nasty program's sleepers that work in this folder, also the one without an environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if command[0].endswith(b"sleep") and command[1] in SLEEPERS and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except (OSError, IndexError):
            continue
    return found


@pytest.mark.parametrize("end", ["stop", "time-out", "normal", "cancel"])
async def test_a_nasty_program_leaves_nothing(tmp_path: Path, cookie: str, end: str) -> None:
    port, stop, ready = free_port(), asyncio.Event(), asyncio.Event()

    async def take(line: Line) -> bool:
        await eventually(lambda: len(sleepers(tmp_path)) == 4 and listening(port))
        ready.set()
        (tmp_path / "seen").touch()
        if end == "stop":
            stop.set()
        return True

    limits = Limits(timeout_seconds=3 if end == "time-out" else 60, grace_seconds=0.3)
    stay = "go" if end == "normal" else "stay"
    command = python(NASTY, tmp_path, str(port), stay, environment={cookie: "1"})
    run = asyncio.create_task(run_process(command, Lines(take), limits=limits, stop=stop))
    async with asyncio.timeout(20):
        await ready.wait()
    began = time.monotonic()
    if end == "cancel":
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    else:
        result = await run
        assert result.ended.value == {"stop": "stopped", "time-out": "timed_out", "normal": "exited"}[end]
        assert result.killed >= 5
        assert result.left == 0
    assert time.monotonic() - began < 10
    assert alive(cookie) == []
    assert sleepers(tmp_path) == []
    assert not listening(port)


async def test_the_end_of_the_program_is_the_end_though_somebody_holds_its_pipe(tmp_path: Path) -> None:
    began = time.monotonic()
    output = Capture()
    result = await run_process(shell("echo done; setsid sleep 60 & exit 0", tmp_path), output)
    assert (result.exit_code, result.killed, output.captured().text) == (0, 1, "done\n")
    assert time.monotonic() - began < 2


async def test_output_held_open_by_somebody_else_is_not_waited_for(tmp_path: Path) -> None:
    """A process outside of the family got the pipe: here this test itself, through /proc."""
    held: list[int] = []

    async def take(line: Line) -> bool:
        held.append(os.open(f"/proc/{line.text}/fd/1", os.O_WRONLY))
        (tmp_path / "go").touch()
        return True

    began = time.monotonic()
    result = await run_process(
        shell("echo $$; while [ ! -e go ]; do sleep 0.01; done", tmp_path),
        Lines(take),
        limits=Limits(drain_seconds=0.5),
    )
    assert result.exit_code == 0
    assert 0.4 < time.monotonic() - began < 3
    os.close(held[0])


async def test_the_tail_of_a_pipeline_may_finish(tmp_path: Path) -> None:
    script = "exec sh -c '(sleep 0.1; echo late) & echo early'"
    output = Capture()
    result = await run_process(shell(script, tmp_path), output, limits=Limits(drain_seconds=30))
    assert (output.captured().text, result.killed) == ("early\nlate\n", 0)


async def test_a_program_that_obeys_term_has_time_to_clean_up(tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def take(line: Line) -> bool:
        stop.set()
        return True

    script = "trap 'sleep 0.3; touch cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    result = await run_process(shell(script, tmp_path), Lines(take), stop=stop)
    assert (result.ended, result.exit_code) == (Ended.STOPPED, 7)
    assert (tmp_path / "cleaned").exists()


async def test_a_program_that_forks_all_the_time(tmp_path: Path, cookie: str) -> None:
    program = """
import os, time
os.setsid()
for _ in range(4):
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
            time.sleep(0.001)
time.sleep(60)
"""
    command = python(program.replace("os.setsid()\n", ""), tmp_path, environment={cookie: "1"})
    result = await run_process(command, Capture(), limits=Limits(timeout_seconds=0.5, grace_seconds=0.2))
    assert result.left == 0
    assert alive(cookie) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_program_that_attacks_its_supervisor(
    tmp_path: Path, cookie: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whilly.agents.process.END_SECONDS", 0.3)
    monkeypatch.setattr(supervised, "UNRESPONSIVE_SECONDS", 0.3)
    script = f"setsid sleep 9999 & kill -{int(number)} $PPID; sleep 9998"
    # A supervisor that is killed is noticed at once; one that is stopped, when it should have ended the program.
    limits = Limits(timeout_seconds=30 if number == signal.SIGKILL else 1, grace_seconds=0.2)
    result = await run_process(shell(script, tmp_path, {cookie: "1"}), Capture(), limits=limits)
    assert result.ended is (Ended.LOST if number == signal.SIGKILL else Ended.TIMED_OUT)
    assert result.exit_code is None
    await eventually(lambda: not alive(cookie), 10)
    assert sleepers(tmp_path) == []


async def test_the_marker_finds_what_the_kernel_does_not_list(
    tmp_path: Path, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of systems other than Linux."""
    monkeypatch.setattr(supervised, "_kernel_lists_children", lambda: False)
    script = "setsid sleep 9999 & (setsid sleep 9998 &) ; echo ready"
    result = await run_process(shell(script, tmp_path, {cookie: "1"}), Capture())
    assert (result.exit_code, result.killed) == (0, 2)
    assert alive(cookie) == []
    stop = asyncio.Event()
    stop.set()
    result = await run_process(shell("setsid sleep 9999", tmp_path, {cookie: "1"}), Capture(), stop=stop)
    assert result.ended is Ended.STOPPED
    assert alive(cookie) == []


WORKER = """
import asyncio, sys
from pathlib import Path
from whilly.agents.capture import Capture
from whilly.agents.command import Command, Limits
from whilly.agents.process import run_process

async def main():
    program, folder, port, cookie = sys.argv[1:]
    for number in range(2):
        (Path(folder) / str(number)).mkdir()
    await asyncio.gather(*(
        run_process(
            Command(
                (sys.executable, "-I", "-S", "-c", program, str(int(port) + number), "stay"),
                Path(folder) / str(number), {"PATH": "/usr/bin:/bin", cookie: "1"},
            ),
            Capture(),
        )
        for number in range(2)
    ))

asyncio.run(main())
"""


def start_worker(folder: Path, port: int, cookie: str) -> "subprocess.Popen[bytes]":
    """A worker with two nasty programs, when both are at their worst."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, NASTY, str(folder), str(port), cookie], env=PLAIN, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: all((folder / name / "ready").exists() for name in "01"), 20)
    return worker


def remains(folder: Path, port: int, cookie: str) -> bool:
    return bool(
        alive(cookie) or sleepers(folder / "0") or sleepers(folder / "1") or listening(port) or listening(port + 1)
    )


def test_nothing_survives_the_workers_death(tmp_path: Path, cookie: str) -> None:
    """Twenty times, two nasty programs each."""
    slowest = 0.0
    for turn in range(20):
        folder, port = tmp_path / str(turn), free_port()
        folder.mkdir()
        worker = start_worker(folder, port, cookie)
        worker.kill()
        began = time.monotonic()
        worker.wait()
        wait_until(partial(lambda *where: not remains(*where), folder, port, cookie), 5)
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 2


def test_a_worker_that_ends_in_a_hurry_leaves_nothing(tmp_path: Path, cookie: str) -> None:
    """Ctrl-C ends `asyncio.run` by cancelling what runs."""
    port = free_port()
    worker = start_worker(tmp_path, port, cookie)
    worker.send_signal(signal.SIGINT)
    worker.wait(timeout=10)
    assert not remains(tmp_path, port, cookie)


def test_spawning_from_a_short_lived_thread(tmp_path: Path) -> None:
    """A parent-death signal follows the thread that started a process; the worker's threads come and go."""

    async def start_in_thread() -> int | None:
        return (await run_process(shell("sleep 0.5; exit 5", tmp_path), Capture())).exit_code

    async def main() -> int | None:
        return await asyncio.to_thread(asyncio.run, start_in_thread())

    assert asyncio.run(main()) == 5
