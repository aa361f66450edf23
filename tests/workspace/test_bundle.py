"""Results as bundles: whole, checked, and refused when they are not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.repository import new_repository
from tests.workspace.far import mirror, result
from tests.workspace.forge import Forge, forge
from tests.workspace.ground import git
from whilly.workspace.bundle import bundle_of, read_header, refer, take_bundle
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.gitcmd import Git


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add()
        yield served


async def a_bundle(hub: Forge, tmp_path: Path) -> tuple[bytes, str]:
    workspace, commit = await result(await mirror(hub, tmp_path).refresh(), tmp_path, {"a": "1\n" * 500})
    async with bundle_of(workspace, commit) as file:
        data = file.read_bytes()
    assert not file.exists()
    assert (await workspace.users_git().run("for-each-ref", "refs/bundled")).out == b""
    return data, commit


def clone(hub: Forge, tmp_path: Path) -> Git:
    git(tmp_path, "clone", "-q", "--bare", str(hub.repository().path), "clone.git")
    return Git(directory=tmp_path / "clone.git", cwd=tmp_path / "clone.git")


async def test_a_bundle_brings_its_commit(hub: Forge, tmp_path: Path) -> None:
    data, commit = await a_bundle(hub, tmp_path)
    target = clone(hub, tmp_path)

    for _ in range(2):
        await take_bundle(target, data, commit, "there")
        await refer(target, tmp_path, "refs/heads/whilly/p/A", commit)

    assert git(tmp_path / "clone.git", "show", "whilly/p/A:a").startswith("1\n1\n")
    assert git(tmp_path / "clone.git", "fsck", "--no-dangling", "--strict") == ""
    assert read_header(data).needs == (hub.repository().git("rev-parse", "main"),)


async def test_damage_anywhere_is_noticed(hub: Forge, tmp_path: Path) -> None:
    data, commit = await a_bundle(hub, tmp_path)
    target = clone(hub, tmp_path)
    for at in (*range(0, 20, 5), read_header(data).pack_at + 4, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        with pytest.raises(WorkspaceFailed):
            await take_bundle(target, bytes(damaged), commit, "there")
    for short in (b"", data[:10], data[: read_header(data).pack_at], data[:-30]):
        with pytest.raises(WorkspaceFailed):
            await take_bundle(target, short, commit, "there")
    assert git(tmp_path / "clone.git", "fsck", "--no-dangling") == ""


async def test_another_commits_bundle_is_refused(hub: Forge, tmp_path: Path) -> None:
    data, _ = await a_bundle(hub, tmp_path)
    with pytest.raises(WorkspaceFailed, match="does not bring commit"):
        await take_bundle(clone(hub, tmp_path), data, "1" * 40, "there")


async def test_a_repository_that_lacks_what_it_builds_on_says_so(hub: Forge, tmp_path: Path) -> None:
    data, commit = await a_bundle(hub, tmp_path)
    other = new_repository(tmp_path / "other", unrelated="x\n")
    with pytest.raises(WorkspaceFailed, match=r"there lacks commit .* which the result builds on; fetch into it first"):
        await take_bundle(Git(directory=other.path / ".git", cwd=other.path), data, commit, "there")
