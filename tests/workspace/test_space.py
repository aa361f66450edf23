"""A disk that is too full is said with figures, before anything is begun; one that becomes full harms nobody."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.ground import NO_FLOOR, Agent, Ground
from whilly.workspace.attempt import Workspace
from whilly.workspace.errors import NoSpace
from whilly.workspace.garbage import discard
from whilly.workspace.result import collect, publish
from whilly.workspace.space import Floor, require_space

ENDLESS = 2**60


async def test_under_the_floor_nothing_is_begun(ground: Ground) -> None:
    with pytest.raises(NoSpace, match=r"^The disk of .+ has \d+(\.\d)? [GM]iB free; .+ GiB must stay free\.$"):
        await ground.prepare(floor=Floor(bytes=ENDLESS, files=0))
    assert not ground.root.exists()


def test_what_will_be_written_counts(tmp_path: Path) -> None:
    require_space(tmp_path / "not/yet/there", NO_FLOOR, 1000)
    with pytest.raises(NoSpace, match=r"the clone takes .+ GiB and 0 MiB must stay free"):
        require_space(tmp_path, NO_FLOOR, ENDLESS)


@pytest.mark.skipif(os.name != "posix", reason="inodes")
def test_a_disk_can_be_full_of_files(tmp_path: Path) -> None:
    if not os.statvfs(tmp_path).f_files:
        pytest.skip("this file system makes inodes as it goes")
    with pytest.raises(NoSpace, match=r"has room for \d+ more files"):
        require_space(tmp_path, Floor(bytes=0, files=ENDLESS))


@pytest.fixture
def small_disk(ground: Ground) -> Iterator[Path]:
    """16 MB for the workspaces."""
    ground.root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "none", ground.root], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    yield ground.root
    subprocess.run(["umount", "--lazy", ground.root], check=True)


async def test_a_repository_that_does_not_fit(ground: Ground, small_disk: Path) -> None:
    ground.users.commit("Large", {"large.bin": os.urandom(20 * 2**20)})
    with pytest.raises(NoSpace, match="the clone takes"):
        await ground.prepare()
    assert ground.leftovers() == []
    # Objects fit, files do not.
    ground.users.git("rm", "-q", "large.bin")
    ground.users.commit("Twenty", {"twenty.txt": "twenty\n" * 3 * 2**20})
    ground.users.git("checkout", "-q", "--orphan", "small")
    ground.users.git("commit", "-q", "-m", "Only that")
    ground.users.git("branch", "-D", "main")
    ground.users.git("reflog", "expire", "--expire=now", "--all")
    ground.users.git("gc", "-q", "--prune=now")
    before = ground.users.snapshot()
    with pytest.raises(NoSpace):
        await ground.prepare()
    assert ground.leftovers() == []
    assert ground.users.snapshot() == before


async def test_an_agent_that_fills_the_disk(ground: Ground, small_disk: Path) -> None:
    before = ground.users.snapshot()
    workspace = await ground.prepare()
    agent = Agent(workspace)
    agent.write({"a.txt": "work\n"})
    with pytest.raises(OSError, match="No space left"):
        agent.write({"huge.bin": os.urandom(20 * 2**20)})
    with pytest.raises(NoSpace):
        await collect(workspace)
    assert not await _can_be_discarded(workspace)
    assert (agent.path / "a.txt").exists()
    assert ground.users.snapshot() == before
    # Once there is room, the work is there.
    (agent.path / "huge.bin").unlink()
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert ground.users.files_of("whilly/demo/T1")["a.txt"] == "work"


async def _can_be_discarded(workspace: Workspace) -> bool:
    try:
        return await discard(workspace)
    except NoSpace:
        return False
