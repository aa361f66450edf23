"""Leftovers go, and nothing goes whose work is not provably somewhere else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground
from whilly.workspace.attempt import Workspace
from whilly.workspace.garbage import discard, sweep
from whilly.workspace.removal import remove_tree
from whilly.workspace.result import collect, publish


def orphan(workspace: Workspace) -> None:
    """As if the worker had died: a process that lived, and lives no more."""
    owner = workspace.home / "owner.json"
    values = json.loads(owner.read_text(encoding="utf-8"))
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    owner.write_text(json.dumps({**values, "pid": int(dead.stdout)}), encoding="utf-8")


async def test_a_workspace_in_use_is_left_alone(ground: Ground) -> None:
    workspace = await ground.prepare()
    swept = await sweep(ground.root)
    assert (swept.removed, swept.salvaged, swept.left) == ((), (), ())
    assert workspace.path.exists()


async def test_the_work_of_a_dead_worker_is_brought_home_first(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "unsaved words\n"})
    orphan(workspace)
    swept = await sweep(ground.root)
    assert swept.removed == (workspace.home,)
    (saved,) = swept.salvaged
    assert (saved.plan, saved.task, saved.epoch) == ("demo", "T1", 1)
    assert "unsaved words" in ground.users.reachable_files(saved.collected.kept_ref)
    assert ground.leftovers() == []


async def test_a_pid_that_somebody_else_has_now_is_dead(ground: Ground) -> None:
    workspace = await ground.prepare()
    owner = workspace.home / "owner.json"
    values = json.loads(owner.read_text(encoding="utf-8"))
    owner.write_text(json.dumps({**values, "started": values["started"] - 1000}), encoding="utf-8")
    assert (await sweep(ground.root)).removed == (workspace.home,)


async def test_a_folder_of_another_machine_is_not_ours_to_judge(ground: Ground) -> None:
    workspace = await ground.prepare()
    owner = workspace.home / "owner.json"
    values = json.loads(owner.read_text(encoding="utf-8"))
    owner.write_text(json.dumps({**values, "host": "elsewhere"}), encoding="utf-8")
    assert (await sweep(ground.root)).removed == ()


async def test_what_was_collected_already_only_has_to_go(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    await publish(workspace, await collect(workspace))
    orphan(workspace)
    swept = await sweep(ground.root)
    assert swept.removed == (workspace.home,)
    assert swept.salvaged == ()


async def test_work_whose_ref_was_removed_is_brought_home_again(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "unsaved words\n"})
    collected = await collect(workspace)
    ground.users.git("update-ref", "-d", collected.kept_ref)
    assert await discard(workspace)
    assert "unsaved words" in ground.users.reachable_files(collected.kept_ref)


async def test_without_the_users_repository_the_work_stays(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "unsaved words\n"})
    orphan(workspace)
    ground.users.path.rename(ground.folder / "moved")
    swept = await sweep(ground.root)
    assert swept.removed == ()
    assert swept.left[0][0] == workspace.home
    assert (workspace.path / "a.txt").exists()
    # Once it is back, so is the work.
    (ground.folder / "moved").rename(ground.users.path)
    assert (await sweep(ground.root)).removed == (workspace.home,)
    assert "unsaved words" in ground.users.reachable_files("refs/whilly/demo/T1/e1")


async def test_half_made_and_half_removed_folders_go(ground: Ground) -> None:
    workspace = await ground.prepare()
    orphan(workspace)
    (workspace.home / "workspace.json").unlink()
    (ground.root / ".doomed-1-demo@T9@e1/work").mkdir(parents=True)
    old = ground.root / "demo@T8@e1"
    old.mkdir()
    os.utime(old, (0, 0))
    newborn = ground.root / "demo@T7@e1"
    newborn.mkdir()
    await sweep(ground.root)
    assert ground.leftovers() == [newborn.name], "its worker may be about to write whose it is"


async def test_one_bad_folder_does_not_save_the_others(ground: Ground) -> None:
    bad = await ground.prepare("T1")
    good = await ground.prepare("T2")
    (bad.home / "workspace.json").write_text('{"path": 1}', encoding="utf-8")
    for workspace in (bad, good):
        orphan(workspace)
    swept = await sweep(ground.root)
    assert swept.removed == (good.home,)
    assert swept.left[0][0] == bad.home


def test_what_cannot_be_removed_keeps_its_name(tmp_path: Path) -> None:
    busy = tmp_path / "home" / "mounted"
    busy.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", busy], check=False, capture_output=True).returncode:
        pytest.skip("only root can mount")
    try:
        assert not remove_tree(tmp_path / "home")
        (doomed,) = tmp_path.iterdir()
        assert not remove_tree(doomed)
        assert [each.name for each in tmp_path.iterdir()] == [doomed.name]
    finally:
        subprocess.run(["umount", next(tmp_path.glob("*/mounted"))], check=True)
    assert remove_tree(doomed)


@pytest.mark.parametrize("kind", ["read-only", "deep", "links"])
async def test_what_is_hard_to_remove_goes_too(ground: Ground, tmp_path: Path, kind: str) -> None:
    workspace = await ground.prepare()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("", encoding="utf-8")
    if kind == "read-only":
        (workspace.path / "cache/sub").mkdir(parents=True)
        (workspace.path / "cache/sub/file").write_text("", encoding="utf-8")
        for path in ("cache/sub/file", "cache/sub", "cache"):
            (workspace.path / path).chmod(0o000)
    elif kind == "deep":
        here = os.open(workspace.path, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("deeper", dir_fd=here)
            below = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    else:
        (workspace.path / "link").symlink_to(outside)
    assert await discard(workspace)
    assert ground.leftovers() == []
    assert (outside / "precious").exists()


async def test_no_folder_is_no_problem(ground: Ground) -> None:
    assert (await sweep(ground.root)).removed == ()
