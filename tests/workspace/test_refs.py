"""Moving a ref: compared, swapped, and patient with others; a dead git's lock is removed, a living one's is not."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workspace.ground import Ground
from whilly.workspace import refs
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.locks import held, held_at_once, lock_of
from whilly.workspace.refs import swap_ref, value_of
from whilly.workspace.source import look_at

REF = "refs/heads/whilly/demo/T1"


async def swap(ground: Ground, new: str, old: str, ref: str = REF) -> bool:
    return await swap_ref((await look_at(ground.users.source)).git(), ground.root, ref, new, old, "test")


async def test_a_ref_moves_only_from_where_it_was_seen(ground: Ground) -> None:
    first = ground.users.head
    second = ground.users.commit("Second", {"b.txt": "b\n"})
    git = (await look_at(ground.users.source)).git()
    assert await value_of(git, REF) == ""
    assert not await swap(ground, second, first), "it does not exist"
    assert await swap(ground, first, "")
    assert not await swap(ground, second, ""), "it exists"
    assert await swap(ground, second, first)
    assert not await swap(ground, first, first)
    assert await value_of(git, REF) == second


async def test_of_many_at_once_one_wins(ground: Ground) -> None:
    head = ground.users.head
    assert sorted(await asyncio.gather(*(swap(ground, head, "") for _ in range(10)))) == [False] * 9 + [True]


async def test_the_lock_of_a_dead_git_is_removed(ground: Ground) -> None:
    lock = ground.users.path / f".git/{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    began = time.monotonic()
    assert await swap(ground, ground.users.head, "")
    assert time.monotonic() - began < 10
    assert not lock.exists()


async def test_a_lock_that_is_not_ours_is_named_and_left(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refs, "PATIENCE_SECONDS", 0.2)
    lock = ground.users.path / ".git/refs/heads/mine.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    with pytest.raises(WorkspaceFailed, match=r"mine\.lock exists: another git is at work there"):
        await swap(ground, ground.users.head, "", "refs/heads/mine")
    assert lock.exists()


async def test_a_lock_dies_with_its_holder_and_not_before(ground: Ground) -> None:
    path = lock_of(ground.root, ground.users.path, "test")
    program = (
        "import sys, asyncio; from pathlib import Path; from whilly.workspace.locks import held\n"
        "async def main():\n"
        "    async with held(Path(sys.argv[1])):\n"
        "        print('held', flush=True); sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    with held_at_once(path) as ours:
        assert not ours
    with pytest.raises(WorkspaceFailed, match="Another Whilly process has held"):
        async with held(path, patience=0.05):
            pass
    holder.kill()
    await holder.communicate()
    async with held(path, patience=5):
        with held_at_once(path) as ours:
            assert not ours, "nor twice in one process"
