"""A full disk is the worker's trouble, not the tasks'."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_plan, a_task
from tests.worker.until import until
from tests.worker.workshop import workshop
from whilly.store.database import Database
from whilly.workspace.space import Floor


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """32 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "none", disk], check=False, capture_output=True
    ).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


async def test_nothing_is_claimed_while_the_disk_is_full(database: Database, tmp_path: Path, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(28 * 2**20))
    tasks = [a_task(f"T{number}") for number in range(4)]
    async with workshop(database, tmp_path, {"*": "echo $TASK > $TASK.txt"}) as shop:
        await shop.room.submit(a_plan(*tasks), shop.repository.path)
        async with shop.working(slots=2, workspaces=small_disk / "w", floor=Floor(8 * 2**20, 0)) as (stop, worker):
            await until(lambda: shop.said, "the full disk is told")
            assert [(await shop.room.task(task.id))["epoch"] for task in tasks] == [0, 0, 0, 0]
            ballast.unlink()
            for task in tasks:
                await shop.reached(task.id, "DONE")
            stop.set()
            await worker
    assert [attempt.outcome for attempt in shop.ended] == ["completed"] * 4
    full, again = shop.said
    assert "8 MiB must stay free. Until then this worker takes no tasks." in full
    assert again == "There is space on the disk again."


async def test_a_worker_that_waits_for_space_stops_at_once(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "true"}) as shop:
        await shop.room.submit(a_plan(a_task()), shop.repository.path)
        async with shop.working(floor=Floor(2**60, 0)) as (stop, worker):
            await until(lambda: shop.said, "the full disk is told")
            stop.set()
            assert (await worker).attempts == 0
