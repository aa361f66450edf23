"""A worker that is killed at any point leaves the user's repository sound, its agent's work findable, the way free."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.worker.until import until
from tests.workspace.ground import Agent, Ground, Snapshot
from whilly.workspace.attempt import load
from whilly.workspace.garbage import sweep
from whilly.workspace.result import collect, publish

PROGRAM = [sys.executable, "-m", "tests.workspace.whole_attempt"]
TOP = Path(__file__).parents[2]

MOST_COMMANDS = 16
"""Git commands of one attempt; one fewer where the user has no settings of their own."""


def a_git_that_kills(folder: Path, at: int, when: str) -> Path:
    """A `git` that kills the process which starts its nth command: before it, or after it has done its work."""
    real = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout.strip()
    program = folder / "git"
    # The agent's own commands have no `--no-optional-locks`: only Whilly's are counted.
    program.write_text(
        f"""#!/bin/sh
case "$*" in *--no-optional-locks*) ;; *) exec {real} "$@" ;; esac
number=1
while ! mkdir "{folder}/$number" 2>/dev/null; do number=$((number + 1)); done
if [ $number -ne {at} ]; then exec {real} "$@"; fi
if [ {when} = before ]; then kill -9 $PPID; exit 1; fi
{real} "$@"
kill -9 $PPID
""",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def children_of(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


async def is_as_good_as_new(ground: Ground, before: Snapshot, began: float) -> None:
    """What must be true after a kill: nothing of the user's changed, nothing lost, the next attempt works at once."""
    worked = (ground.folder / "worked").exists()
    swept = await sweep(ground.root)
    assert ground.users.snapshot() == before
    ground.users.is_sound()
    assert swept.left == ()
    # Killed before it wrote its name: a sweep waits a minute for the owner of a new folder.
    for name in ground.leftovers():
        assert not (ground.root / name / "owner.json").exists()
        os.utime(ground.root / name, (0, 0))
        await sweep(ground.root)
    assert ground.leftovers() == []
    refs = ground.users.refs()
    if worked:
        assert ground.users.reachable_files("refs/whilly/demo/T1/e1") >= {"the agent's words", "new words", "own words"}
        assert [ref for ref in refs if ref.startswith("refs/whilly/demo/T1/e1.")] == [], "kept twice"
    workspace = await ground.prepare(epoch=2)
    Agent(workspace).write({"again.txt": "again\n"})
    assert await publish(workspace, await collect(workspace)) == "whilly/demo/T1"
    assert ground.users.snapshot() == before
    assert time.monotonic() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(1, MOST_COMMANDS + 1))
async def test_killed_at_a_command_of_git(ground: Ground, tmp_path: Path, at: int, when: str) -> None:
    ground.users.write({"README.md": "dirty\n"})
    folder = tmp_path / "bin"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{a_git_that_kills(folder, at, when)}{os.pathsep}{os.environ['PATH']}"}
    before = ground.users.snapshot()
    began = time.monotonic()
    worker = await asyncio.create_subprocess_exec(
        *PROGRAM, str(ground.users.path), str(ground.root), cwd=TOP, env=environment
    )
    code = await worker.wait()
    if code == 0:
        assert at == MOST_COMMANDS, "the attempt has fewer git commands than the test says"
        return
    assert code == -signal.SIGKILL
    await is_as_good_as_new(ground, before, began)


@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("share", [n / 12 for n in range(12)])
async def test_killed_at_a_moment(ground: Ground, share: float, alone: bool) -> None:
    """Between git commands and in the middle of them; alone, or with the git that it had just started."""
    before = ground.users.snapshot()
    worker = await asyncio.create_subprocess_exec(*PROGRAM, str(ground.users.path), str(ground.root), cwd=TOP)
    await until(ground.root.exists)
    began = time.monotonic()
    try:
        await asyncio.wait_for(worker.wait(), share * 0.25)
    except TimeoutError:
        children = [] if alone else children_of(worker.pid)
        with suppress(ProcessLookupError):
            worker.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        await worker.wait()
    await is_as_good_as_new(ground, before, began)


async def test_a_clone_that_a_person_removed_as_well(ground: Ground, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{a_git_that_kills(folder, 4, 'after')}{os.pathsep}{os.environ['PATH']}"}
    worker = await asyncio.create_subprocess_exec(
        *PROGRAM, str(ground.users.path), str(ground.root), cwd=TOP, env=environment
    )
    await worker.wait()
    (home,) = [ground.root / name for name in ground.leftovers()]
    shutil.rmtree(home)
    began = time.monotonic()
    await is_as_good_as_new(ground, ground.users.snapshot(), began)


async def test_a_killed_collection_is_completed_to_the_same_commit(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    first = await collect(workspace)
    # As if killed between the ref and the record of it.
    ground.users.git("update-ref", "-d", first.kept_ref)
    record = workspace.home / "collected.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"safe": true', '"safe": false'), encoding="utf-8")
    again = load(workspace.home)
    assert again == workspace
    assert await collect(again) == first
