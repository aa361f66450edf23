"""An agent is dead by its deadline also when its worker can do nothing about it."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.worker.until import until
from whilly.agents import supervised, supervisor
from whilly.agents.command import Command, Ended
from whilly.agents.process import run_process
from whilly.agents.spending import SpendingLimit
from whilly.worker import clock
from whilly.worker.halt import Halt

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no supervisor on this platform")


class Nowhere:
    async def write(self, data: bytes) -> bool:
        return bool(data)

    async def end(self) -> None:
        return


def sleeper(tmp_path: Path) -> Command:
    return Command(
        ("/bin/sh", "-c", "trap '' TERM; echo $$ > pid; exec sleep 60"), tmp_path, {"PATH": os.environ["PATH"]}
    )


def test_both_ends_count_the_same_digits_by_the_same_clock() -> None:
    assert supervised.DIGITS == supervisor.MOMENT
    assert abs(supervisor.sleepless() - clock.now()) < 1


@pytest.mark.parametrize("wrapped", [False, True])
async def test_the_family_is_killed_at_the_deadline_unless_it_is_postponed(tmp_path: Path, wrapped: bool) -> None:
    halt = Halt()
    halt.postpone(clock.now() + 0.5)
    stop = SpendingLimit(None, halt) if wrapped else halt
    began = time.monotonic()
    running = asyncio.create_task(run_process(sleeper(tmp_path), Nowhere(), stop=stop))
    await asyncio.sleep(0)
    halt.postpone(clock.now() + 1.5)
    ended = await asyncio.wait_for(running, 10)
    assert ended.ended is Ended.EXITED
    assert ended.exit_code == -signal.SIGKILL
    assert 1.4 < time.monotonic() - began < 5


WORKER = """
import asyncio, os
from pathlib import Path
from tests.agents.test_deadline import Nowhere, sleeper
from whilly.agents.process import run_process
from whilly.worker import clock
from whilly.worker.halt import Halt

async def main():
    halt = Halt()
    halt.postpone(clock.now() + 2)
    await run_process(sleeper(Path(os.environ["PLACE"])), Nowhere(), stop=halt)

asyncio.run(main())
"""


async def test_the_agent_of_a_worker_that_is_stopped_dies_all_the_same(tmp_path: Path) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, cwd=Path(__file__).parents[2], env={**os.environ, "PLACE": str(tmp_path)}
    )
    try:
        noted = tmp_path / "pid"
        await until(lambda: noted.exists() and noted.read_text(encoding="utf-8").strip())
        worker.send_signal(signal.SIGSTOP)
        pid = int(noted.read_text(encoding="utf-8"))
        await until(lambda: not psutil.pid_exists(pid), within=10)
        assert psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED
    finally:
        worker.send_signal(signal.SIGCONT)
        worker.kill()
        await worker.wait()
