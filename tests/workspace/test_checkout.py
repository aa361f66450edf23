"""Checks run on the files of the commit and on nothing else."""

from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground, git
from whilly.workspace.carry import Carried, How
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.result import collect


async def test_exactly_the_files_of_the_commit(ground: Ground) -> None:
    ground.users.commit("Ignore", {".gitignore": "*.pyc\n"})
    workspace = await ground.prepare()
    agent = Agent(workspace)
    agent.write({"a.txt": "a\n", "cache.pyc": "stale\n"})
    (agent.path / "run.sh").chmod(0o755)
    collected = await collect(workspace)
    agent.write({"a.txt": "changed since\n"})
    async with clean_checkout(workspace, collected.head_commit or "") as folder:
        names = {path.name for path in folder.iterdir()}
        assert names == {".git", ".gitignore", "README.md", "src", "run.sh", "a.txt"}
        assert (folder / "a.txt").read_text(encoding="utf-8") == "a\n"
        assert (folder / "run.sh").stat().st_mode & 0o111
        # Checks that ask git get an answer.
        assert git(folder, "status", "--porcelain") == ""
        assert git(folder, "rev-parse", "HEAD") == collected.head_commit
        assert git(folder, "diff", "--stat", "origin/main") != ""
        assert git(folder, "fsck", "--full") == ""
    assert not folder.exists()


async def test_two_at_once_and_what_checks_do_to_one_of_them(ground: Ground) -> None:
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    head = (await collect(workspace)).head_commit or ""
    async with clean_checkout(workspace, head) as one, clean_checkout(workspace, head) as two:
        (one / "a.txt").write_text("spoiled\n", encoding="utf-8")
        for path in (one / ".git/objects").rglob("*"):
            if path.is_file():
                path.chmod(0o644)
                path.write_bytes(b"spoiled")
        assert (two / "a.txt").read_text(encoding="utf-8") == "a\n"
    async with clean_checkout(workspace, head) as three:
        assert (three / "a.txt").read_text(encoding="utf-8") == "a\n"
    ground.users.is_sound()


async def test_it_goes_also_when_the_checks_fail(ground: Ground) -> None:
    workspace = await ground.prepare()
    with pytest.raises(ZeroDivisionError):
        async with clean_checkout(workspace, workspace.base_commit) as folder:
            raise ZeroDivisionError
    assert not folder.exists()
    with pytest.raises(WorkspaceFailed):
        async with clean_checkout(workspace, "1" * 40):
            pass
    assert [path.name for path in workspace.home.iterdir() if path.name.startswith("checks-")] == []


@pytest.fixture
def equipped(ground: Ground) -> Ground:
    """A user with an environment that git ignores."""
    ground.users.commit("Ignore", {".gitignore": ".venv/\nnode_modules/\n"})
    ground.users.write({".venv/bin/tool": "tool\n", "node_modules/x/index.js": "x\n"})
    return ground


async def test_by_default_nothing_ignored_comes_along(equipped: Ground) -> None:
    workspace = await equipped.prepare()
    assert not (workspace.path / ".venv").exists()


async def test_ignored_things_come_along_when_asked(equipped: Ground) -> None:
    carry = [Carried(".venv"), Carried("node_modules", How.COPY), Carried("none"), Carried("README.md")]
    workspace = await equipped.prepare(carry=carry)
    assert (workspace.path / ".venv").readlink() == equipped.users.path / ".venv"
    assert (workspace.path / "node_modules/x/index.js").exists()
    assert not (workspace.path / "node_modules").is_symlink()
    assert workspace.carried == tuple(carry[:2])
    assert [note.split(" ")[0] for note in workspace.notes] == ["none", "README.md"]
    agent = Agent(workspace)
    assert agent.git("status", "--porcelain") == ""
    agent.write({"a.txt": "a\n"})
    collected = await collect(workspace)
    assert collected.files_changed == 1, "a link is no work of the agent"
    async with clean_checkout(workspace, collected.head_commit or "") as folder:
        assert (folder / ".venv/bin/tool").exists()
        assert (folder / "node_modules/x/index.js").exists()
    assert (equipped.users.path / ".venv/bin/tool").exists()


@pytest.mark.parametrize("name", ["../outside", "/etc", ".git", ".git/hooks", "a/../../b", ""])
async def test_only_what_is_inside_can_be_carried_in(equipped: Ground, name: str) -> None:
    with pytest.raises(WorkspaceFailed, match="cannot be carried in"):
        await equipped.prepare(carry=[Carried(name)])
    assert equipped.leftovers() == []


async def test_names_that_look_like_patterns_are_names(ground: Ground) -> None:
    ground.users.write({"[x]*/file": "1\n"})
    workspace = await ground.prepare(carry=[Carried("[x]*")])
    Agent(workspace).write({"x": "not hidden\n"})
    assert (await collect(workspace)).files_changed == 1
    assert Path(workspace.path / "[x]*").is_symlink()
