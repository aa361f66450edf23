"""Two processes with one identity, on a real network: one of them works."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from tests.worker.test_endings import STUBBORN, dead
from tests.worker.test_processes import pids_in, served, submitted, worker_process
from tests.worker.until import until
from whilly.store.database import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no supervisor on this platform")


async def test_the_second_process_is_refused_with_one_sentence(database: Database, tmp_path: Path) -> None:
    await submitted(database, tmp_path)
    async with (
        served(database, lease=60) as (url, token, room),
        worker_process(url, folder(tmp_path, "first"), STUBBORN.format(folder=tmp_path), token) as first,
    ):
        await pids_in(tmp_path)
        async with worker_process(url, folder(tmp_path, "second"), "true", token) as second:
            _, said = await asyncio.wait_for(second.communicate(), 20)
        assert second.returncode == 1
        (sentence,) = said.decode().splitlines()
        assert sentence.startswith("refused: Worker laptop is at work already, as a process on ")
        assert sentence.endswith("stop that one first, or start this one with --take-over.")
        assert first.returncode is None
        assert [each["outcome"] for each in await room.attempts("T1")] == [None]


async def test_a_process_that_takes_over_ends_the_other_one_and_its_agents_first(
    database: Database, tmp_path: Path
) -> None:
    await submitted(database, tmp_path)
    async with (
        served(database, lease=60) as (url, token, room),
        worker_process(url, folder(tmp_path, "first"), STUBBORN.format(folder=tmp_path), token) as first,
    ):
        pids = await pids_in(tmp_path)
        script = f"touch {tmp_path}/heir; echo heir > T1.txt"
        began = time.monotonic()
        async with worker_process(url, folder(tmp_path, "second"), script, token, TAKE_OVER="1"):
            said, _ = await asyncio.wait_for(first.communicate(), 20)
            took = time.monotonic() - began
            assert dead(*pids)
            assert "Another process works under this worker's identity now." in said.decode()
            await until((tmp_path / "heir").exists)

            async def done() -> bool:
                return bool((await room.task("T1"))["status"] == "DONE")

            await until(done)
        task = await room.task("T1")
        assert [each["outcome"] for each in await room.attempts("T1")] == ["released", "completed"]
        assert task["attempts"] == 1, "what was given up is not counted"
        assert took < 12
        async with database.connection() as connection:
            assert await connection.fetchval("select session from workers where id = 'laptop'") == 2


async def test_the_next_process_of_the_same_folder_begins_at_once_after_a_kill(
    database: Database, tmp_path: Path
) -> None:
    await submitted(database, tmp_path)
    async with served(database, lease=60) as (url, token, room):
        async with worker_process(url, tmp_path, STUBBORN.format(folder=tmp_path), token) as first:
            await pids_in(tmp_path)
            first.kill()
            await first.wait()
        async with worker_process(url, tmp_path, "echo again > T1.txt", token):

            async def done() -> bool:
                return bool((await room.task("T1"))["status"] == "DONE")

            await until(done)
        assert [each["outcome"] for each in await room.attempts("T1")] == ["released", "completed"]


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name
