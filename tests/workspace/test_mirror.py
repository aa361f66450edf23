"""A worker's copy of a repository elsewhere: shared by attempts and processes, and replaced when it is damaged."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.far import attempt, mirror, result
from tests.workspace.forge import TOKEN, Forge, commit_on, forge
from whilly.workspace.errors import RemoteFailed
from whilly.workspace.mirror import Mirror
from whilly.workspace.mirror_folder import remove_unused


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add(big="x" * 10_000)
        yield served


def folder(copy: Mirror) -> Path:
    directory = copy.git().directory
    assert directory
    return directory


def empty_the_objects(copy: Path) -> None:
    for pack in (copy / "objects/pack").iterdir():
        pack.unlink()


def flip_a_byte(copy: Path) -> None:
    (pack,) = (copy / "objects/pack").glob("*.pack")
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 0xFF
    pack.chmod(0o644)
    pack.write_bytes(content)


def cut_a_pack(copy: Path) -> None:
    (pack,) = (copy / "objects/pack").glob("*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:100])


def spoil_the_refs(copy: Path) -> None:
    (copy / "packed-refs").write_bytes(b"\0nonsense")


def remove_the_head(copy: Path) -> None:
    (copy / "HEAD").unlink()


def remove_all(copy: Path) -> None:
    shutil.rmtree(copy)


def make_it_a_file(copy: Path) -> None:
    shutil.rmtree(copy)
    copy.write_text("no folder", encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [empty_the_objects, cut_a_pack, spoil_the_refs, remove_the_head, remove_all, make_it_a_file],
)
async def test_a_damaged_copy_is_made_anew(hub: Forge, tmp_path: Path, damage: object) -> None:
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    assert callable(damage)
    damage(folder(copy))
    commit_on(hub.repository(), "main", "Go on", new="n\n")

    workspace = await attempt(await copy.refresh(), tmp_path, {})

    assert (workspace.path / "new").exists()


async def test_damage_that_the_fetch_does_not_notice_is_found_when_asked(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    assert not await copy.mend()
    flip_a_byte(folder(copy))

    assert await copy.mend()

    await attempt(await copy.refresh(), tmp_path, {})


async def test_what_attempts_left_in_a_damaged_copy_stays(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, _ = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    before = folder(copy)
    (before / "HEAD").unlink()

    await copy.refresh()

    assert folder(copy) != before
    assert workspace.repository == before
    assert before.is_dir()


@pytest.mark.parametrize(
    "orders",
    [
        {"config": '[core]\n\tsshCommand = touch {pwned}\n[remote "x"]\n\tuploadpack = touch {pwned}\n'},
        {"config": "[include]\n\tpath = {evil}\n"},
        {"objects/info/alternates": "{evil}\n"},
        {"info/grafts": "x\n"},
        {"hooks/reference-transaction": "#!/bin/sh\ntouch {pwned}\n", "hooks/post-fetch": "#!/bin/sh\ntouch {pwned}\n"},
        {"commondir": "{evil}\n"},
    ],
)
async def test_orders_that_somebody_wrote_into_the_copy_are_not_followed(
    hub: Forge, tmp_path: Path, orders: dict[str, str]
) -> None:
    pwned, evil = tmp_path / "pwned", tmp_path / "evil"
    evil.mkdir()
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    for name, content in orders.items():
        file = folder(copy) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content.format(pwned=pwned, evil=evil), encoding="utf-8")
        file.chmod(0o755)

    await attempt(await copy.refresh(), tmp_path, {})

    assert not pwned.exists()
    assert "touch" not in (folder(copy) / "config").read_text(encoding="utf-8")


async def test_many_attempts_at_once_fetch_a_few_times_and_all_get_their_clone(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    before = sum("info/refs" in path for path, _ in hub.requests)

    async def one(number: int) -> None:
        await attempt(await copy.refresh(), tmp_path, {}, task=f"T{number}")

    await asyncio.gather(*(one(number) for number in range(8)))

    fetches = (sum("info/refs" in path for path, _ in hub.requests) - before) / 2
    assert fetches <= 4


PROGRAM = """
import asyncio, sys
from pathlib import Path
from whilly.core.git_address import parse_address
from whilly.workspace.access import GitAccess
from whilly.workspace.mirror import Mirror
from whilly.workspace.remote import Remote

url, folder = sys.argv[1], Path(sys.argv[2])
access = GitAccess(tokens={"127.0.0.1": sys.argv[4]})
copy = Mirror(Remote(parse_address(url), access), "", folder / "repositories", folder / "workspaces")

async def main():
    for _ in range(int(sys.argv[3])):
        await copy.refresh()

asyncio.run(main())
"""


async def test_processes_share_a_copy_and_a_killed_one_does_not_spoil_it(hub: Forge, tmp_path: Path) -> None:
    def start(times: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-c", PROGRAM, hub.address(), str(tmp_path), str(times), TOKEN])

    killed = [start(1000) for _ in range(2)]
    other = await asyncio.to_thread(start, 3)
    for number in range(20):
        commit_on(hub.repository(), f"b{number}", "Go on", new=f"{number}\n")
        await asyncio.sleep(0.05)
    for process in killed:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert await asyncio.to_thread(other.wait, 60) == 0
    # What a git that was killed in the middle leaves, long enough ago.
    copy = mirror(hub, tmp_path)
    for name in ("packed-refs.lock", "refs/remotes/origin/main.lock"):
        lock = folder(copy) / name
        lock.write_bytes(b"")
        os.utime(lock, (1, 1))

    workspace = await attempt(await copy.refresh(), tmp_path, {})

    assert workspace.base_commit == hub.repository().git("rev-parse", "main")


async def test_branches_that_are_gone_there_are_gone_here_and_names_may_change_their_kind(
    hub: Forge, tmp_path: Path
) -> None:
    bare = hub.repository()
    commit_on(bare, "feature", "One", f="1\n")
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    bare.git("branch", "-D", "feature")
    commit_on(bare, "feature/part", "Two", f="2\n")

    await copy.refresh()

    listed = await copy.git().run("for-each-ref", "--format=%(refname)", "refs/remotes")
    assert listed.text.split() == ["refs/remotes/origin/feature/part", "refs/remotes/origin/main"]


async def test_a_rewritten_branch_is_followed_and_what_attempts_work_on_stays(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace = await attempt(await copy.refresh(), tmp_path, {"a": "1\n"})
    rewritten = commit_on(hub.repository(), "main", "Another beginning", parent="main", other="1\n")
    hub.repository().git("update-ref", "refs/heads/main", rewritten)

    after = await attempt(await copy.refresh(), tmp_path, {}, task="B")

    assert after.base_commit == rewritten
    assert (await copy.git().run("cat-file", "-t", workspace.base_commit)).text == "commit"


async def test_a_copy_that_nobody_used_for_months_is_removed(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    top = folder(copy).parent
    remove_unused(tmp_path / "repositories")
    assert top.exists()
    os.utime(top, (1, 1))
    await copy.refresh()
    remove_unused(tmp_path / "repositories")
    assert top.exists()
    os.utime(top, (1, 1))
    remove_unused(tmp_path / "repositories")
    assert not top.exists()
    await copy.refresh()


async def test_a_repository_that_disappears_leaves_the_copy_as_it_is(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    shutil.rmtree(hub.root / "shop.git")

    with pytest.raises(RemoteFailed, match="no such repository"):
        await copy.refresh()

    assert (await workspace.users_git().run("cat-file", "-t", commit)).text == "commit"
