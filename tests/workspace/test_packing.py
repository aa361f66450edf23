"""Loose objects travel in one pack, which is made once and never stands in for an object that it lacks."""

from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground, UsersRepository
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.garbage import discard
from whilly.workspace.packing import ENOUGH, pack_of_loose
from whilly.workspace.result import collect, publish


def loose(folder: Path) -> int:
    return sum(1 for path in (folder / ".git/objects").glob("??/*"))


async def test_few_objects_are_not_worth_it(ground: Ground) -> None:
    assert (await pack_of_loose(ground.users.path / ".git", "sha1", ground.root)).files == ()


@pytest.mark.parametrize("form", ["sha1", "sha256"])
async def test_many_objects_travel_together(ground: Ground, form: str) -> None:
    if form == "sha256":
        ground.users = UsersRepository(ground.folder / "modern", "--object-format=sha256")
    ground.users.commit("Many", {f"{n}.txt": f"{n}\n" for n in range(ENOUGH)})
    ground.users.commit("One more, after which a new pack is made", {"more.txt": "more\n"})
    before = ground.users.snapshot()
    workspace = await ground.prepare()
    agent = Agent(workspace)
    assert loose(workspace.path) == 0
    assert agent.git("fsck", "--full") == ""
    ground.users.commit("Another", {"another.txt": "another\n"})
    second = await ground.prepare("T2")
    assert loose(second.path) == 3, "the new ones come by themselves"
    assert Agent(second).git("fsck", "--full") == ""
    agent.commit("Mine", {"a.txt": "a\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    async with clean_checkout(workspace, collected.head_commit or "") as folder:
        assert Agent(second).git("-C", str(folder), "log", "--format=%s").splitlines()[0] == "Mine"
    assert await discard(workspace)
    assert await discard(second)
    assert {name for name in ground.users.snapshot() if "pack" in name} == {name for name in before if "pack" in name}


async def test_after_the_users_own_cleaning_up_the_pack_is_given_up(ground: Ground) -> None:
    ground.users.commit("Many", {f"{n}.txt": f"{n}\n" for n in range(ENOUGH)})
    git_dir = ground.users.path / ".git"
    first = await pack_of_loose(git_dir, "sha1", ground.root)
    assert len(first.files) == 2
    ground.users.git("gc", "-q")
    assert (await pack_of_loose(git_dir, "sha1", ground.root)).files == ()
    ground.users.commit("Many others", {f"{n}.txt": f"other {n}\n" for n in range(ENOUGH)})
    second = await pack_of_loose(git_dir, "sha1", ground.root)
    assert second.files != first.files
    assert not second.names & first.names


async def test_a_damaged_object_spoils_only_itself(ground: Ground) -> None:
    ground.users.commit("Many", {f"{n}.txt": f"{n}\n" for n in range(ENOUGH)})
    ground.users.write({"aside.txt": "aside\n"})
    blob = ground.users.git("hash-object", "-w", "aside.txt")
    damaged = ground.users.path / ".git/objects" / blob[:2] / blob[2:]
    damaged.chmod(0o644)
    damaged.write_bytes(b"nonsense")
    workspace = await ground.prepare()
    assert (workspace.path / "7.txt").exists()
