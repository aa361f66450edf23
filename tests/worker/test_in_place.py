"""With `--in-place` the agent works in the user's own folder, on the branch that is checked out."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import a_check, a_plan, a_task
from tests.worker.workshop import workshop
from whilly.store.database import Database
from whilly.worker.loop import Worker


async def test_results_follow_one_another_on_the_users_branch(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"A": "echo a > a.txt", "B": "cat a.txt a.txt > b.txt"}) as shop:
        checks = (a_check(command="test -f a.txt"),)
        await shop.work(a_plan(a_task("A"), a_task("B", ("A",)), checks=checks), in_place=True)
        assert (await shop.room.task("B"))["status"] == "DONE", (await shop.room.task("B"))["reason"]
        assert shop.repository.git("symbolic-ref", "HEAD") == "refs/heads/main"
        assert (shop.repository.path / "b.txt").read_text(encoding="utf-8") == "a\na\n"
        assert shop.repository.git("status", "--porcelain") == ""
        assert shop.repository.branches() == {"main"}


async def test_a_folder_with_changes_of_the_users_is_left_alone(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo a > a.txt"}) as shop:
        (shop.repository.path / "README.md").write_text("my own words\n", encoding="utf-8")
        await shop.room.submit(a_plan(a_task("T1"), a_task("T2")), shop.repository.path)
        async with shop.working(in_place=True) as (_, worker):
            worked = await worker
        assert "uncommitted changes (README.md)" in worked.unusable
        assert [(await shop.room.task(task))["attempts"] for task in ("T1", "T2")] == [0, 0]
        assert not (shop.repository.path / "a.txt").exists()


async def test_there_is_room_for_one_task_at_a_time(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {}) as shop:
        with pytest.raises(ValueError, match="one task at a time"):
            Worker(replace(shop.equipment, in_place=True), slots=2)
