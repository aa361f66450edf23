"""`--in-place`: in the user's own folder, only when it is clean, one attempt at a time."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.ground import NO_FLOOR, Agent, Ground, UsersRepository, git
from whilly.workspace import inplace, locks
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.inplace import work_in_place
from whilly.workspace.result import collect, publish


def in_place(ground: Ground, task: str = "T1", **how: Any) -> Any:
    how = {"source": ground.users.source, "epoch": 1, **how}
    return work_in_place(how.pop("source"), root=ground.root, plan="demo", task=task, floor=NO_FLOOR, **how)


async def test_the_result_is_committed_on_the_branch_that_is_checked_out(ground: Ground) -> None:
    before = ground.users.head
    async with in_place(ground, title="Say hello") as workspace:
        assert workspace.path == ground.users.path
        Agent(workspace).write({"README.md": "Changed\n", "new.txt": "new\n"})
        collected = await collect(workspace)
        assert ground.users.head == before, "nothing moves before the checks"
        async with clean_checkout(workspace, collected.head_commit or "") as folder:
            assert (folder / "new.txt").exists()
        assert await publish(workspace, collected) == "main"
        assert await publish(workspace, collected) == "main"
    assert ground.users.head == collected.head_commit
    assert ground.users.git("status", "--porcelain") == "", "the index says so too"
    assert ground.users.git("log", "-1", "--format=%an: %s") == "Whilly: T1: Say hello"
    assert ground.users.git("rev-parse", "HEAD~1") == before
    assert ground.leftovers() == []


@pytest.mark.parametrize("dirt", ["changed", "untracked", "staged", "deleted", "mode"])
async def test_a_folder_with_changes_is_refused_and_untouched(ground: Ground, dirt: str) -> None:
    if dirt == "deleted":
        (ground.users.path / "run.sh").unlink()
    elif dirt == "mode":
        (ground.users.path / "run.sh").chmod(0o755)
    else:
        ground.users.write({"new.txt" if dirt != "changed" else "README.md": "words\n"})
    if dirt == "staged":
        ground.users.git("add", "-A")
    before = ground.users.snapshot()
    with pytest.raises(WorkspaceFailed, match=r"has uncommitted changes \(.+\); commit or stash them"):
        async with in_place(ground):
            pass
    assert ground.users.snapshot() == before
    assert ground.leftovers() == []


async def test_ignored_files_are_no_changes(ground: Ground) -> None:
    ground.users.commit("Ignore", {".gitignore": "*.log\n"})
    ground.users.write({"a.log": "noise\n"})
    async with in_place(ground) as workspace:
        assert (await collect(workspace)).head_commit is None


async def test_where_there_is_no_branch_to_commit_on_it_says_so(ground: Ground) -> None:
    empty = UsersRepository(ground.folder / "empty", empty=True)
    bare = ground.folder / "bare.git"
    git(ground.folder, "clone", "-q", "--bare", str(ground.users.path), str(bare))
    ground.users.git("checkout", "-q", "--detach")
    for source, sentence in [
        (empty.source, "has no commits yet"),
        (type(empty.source)(bare), "has no folder with files"),
        (ground.users.source, "has no branch checked out"),
    ]:
        with pytest.raises(WorkspaceFailed, match=sentence):
            async with in_place(ground, source=source):
                pass


async def test_the_agents_own_commits_stay(ground: Ground) -> None:
    async with in_place(ground) as workspace:
        agent = Agent(workspace)
        own = agent.commit("Mine", {"a.txt": "a\n"})
        agent.write({"b.txt": "b\n"})
        collected = await collect(workspace)
        assert collected.violated == ""
        assert await publish(workspace, collected) == "main"
    assert ground.users.git("rev-parse", "HEAD~1") == own
    assert ground.users.git("status", "--porcelain") == ""


async def test_an_agent_that_leaves_the_branch_is_reported_and_nothing_is_moved(ground: Ground) -> None:
    before = ground.users.head
    async with in_place(ground) as workspace:
        agent = Agent(workspace)
        agent.git("checkout", "-q", "-b", "elsewhere")
        agent.write({"a.txt": "a\n"})
        collected = await collect(workspace)
        assert collected.violated == "The agent left branch main for elsewhere."
        said: list[str] = []
        assert await publish(workspace, collected, said.append) == "refs/whilly/demo/T1/e1"
        assert "no longer checked out" in said[0]
    assert ground.users.refs()["refs/heads/main"] == before


async def test_a_branch_that_moves_meanwhile_is_not_moved_back(ground: Ground) -> None:
    async with in_place(ground) as workspace:
        Agent(workspace).write({"a.txt": "a\n"})
        collected = await collect(workspace)
        ground.users.git("commit", "-q", "--allow-empty", "-m", "A person's")
        head = ground.users.head
        said: list[str] = []
        assert await publish(workspace, collected, said.append) == "refs/whilly/demo/T1/e1"
        assert "has moved meanwhile" in said[0]
    assert ground.users.head == head


async def test_a_later_attempt_may_find_the_folder_as_the_earlier_one_left_it(ground: Ground) -> None:
    async with in_place(ground) as workspace:
        base = workspace.base_commit
        Agent(workspace).write({"a.txt": "a\n"})
        first = await collect(workspace)
    async with in_place(ground, epoch=2, resume_from=first.head_commit) as workspace:
        Agent(workspace).write({"b.txt": "b\n"})
        second = await collect(workspace)
        assert (workspace.base_commit, second.files_changed) == (base, 2)
        assert await publish(workspace, second) == "main"
    Agent(workspace).write({"a.txt": "something else\n"})
    with pytest.raises(WorkspaceFailed, match="uncommitted changes"):
        async with in_place(ground, epoch=3, resume_from=second.head_commit):
            pass


async def test_prerequisites_have_to_be_on_the_branch(ground: Ground) -> None:
    async with in_place(ground) as workspace:
        Agent(workspace).write({"a.txt": "a\n"})
        collected = await collect(workspace)
        await publish(workspace, collected)
    async with in_place(ground, "T2", prerequisites=[("T1", collected.head_commit)]):
        pass
    ground.users.git("checkout", "-q", "-b", "other", "HEAD~1")
    with pytest.raises(WorkspaceFailed, match="lacks the result of T1; merge it first"):
        async with in_place(ground, "T2", prerequisites=[("T1", collected.head_commit)]):
            pass


async def test_one_at_a_time(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inplace, "_PATIENCE_SECONDS", 0.1)
    async with in_place(ground):
        with pytest.raises(WorkspaceFailed, match="Another Whilly process"):
            async with in_place(ground, "T2"):
                pass
    async with in_place(ground, "T2"):
        pass
    assert locks.LONGEST_WAIT < 0.1


async def test_nothing_that_the_agent_configures_is_run(ground: Ground, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    async with in_place(ground) as workspace:
        agent = Agent(workspace)
        agent.write({".gitattributes": "* filter=evil\n", "a.txt": "a\n"})
        for hook in ("reference-transaction", "post-index-change", "pre-commit", "post-commit"):
            (agent.path / ".git/hooks" / hook).symlink_to(program)
        for name in ("core.fsmonitor", "filter.evil.clean", "core.hooksPath"):
            agent.git("config", name, str(program) if "hooks" not in name else ".git/hooks")
        collected = await collect(workspace)
        assert await publish(workspace, collected) == "main"
    assert not canary.exists()


async def test_submodules_and_nested_repositories_are_left_alone(ground: Ground) -> None:
    ground.users.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    ground.users.git("commit", "-q", "-m", "A submodule")
    (ground.users.path / "sub").mkdir()
    async with in_place(ground) as workspace:
        agent = Agent(workspace)
        agent.write({"nested/inside.txt": "1\n", "a.txt": "a\n"})
        git(agent.path / "nested", "init", "-q")
        collected = await collect(workspace)
        assert collected.files_changed == 1
        assert await publish(workspace, collected) == "main"
    assert (ground.users.path / "nested/.git").is_dir()


async def test_line_endings_of_the_users_choice(ground: Ground) -> None:
    ground.users.git("config", "core.autocrlf", "true")
    ground.users.write({"crlf.txt": "one\r\ntwo\r\n"})
    ground.users.git("add", "-A")
    ground.users.git("commit", "-qm", "CRLF outside, LF inside")
    async with in_place(ground) as workspace:
        Agent(workspace).write({"crlf.txt": "one\r\nthree\r\n"})
        collected = await collect(workspace)
        assert await publish(workspace, collected) == "main"
    assert ground.users.git("cat-file", "-p", "HEAD:crlf.txt") == "one\nthree"
    assert ground.users.git("status", "--porcelain") == ""


async def test_somebody_elses_lock_on_the_index_is_waited_for(ground: Ground) -> None:
    async with in_place(ground) as workspace:
        Agent(workspace).write({"a.txt": "a\n"})
        collected = await collect(workspace)
        lock = ground.users.path / ".git/index.lock"
        lock.touch()
        publishing = asyncio.create_task(publish(workspace, collected))
        done, _ = await asyncio.wait([publishing], timeout=0.3)
        assert not done
        lock.unlink()
        assert await publishing == "main"
    assert ground.users.git("status", "--porcelain") == ""
    assert not lock.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes")
async def test_in_a_linked_worktree(ground: Ground) -> None:
    linked = ground.folder / "linked"
    ground.users.git("worktree", "add", "-q", "-b", "other", str(linked))
    before = ground.users.snapshot()
    async with in_place(ground, source=type(ground.users.source)(linked)) as workspace:
        Agent(workspace).write({"a.txt": "a\n"})
        assert await publish(workspace, await collect(workspace)) == "other"
    assert git(linked, "status", "--porcelain") == ""
    after = ground.users.snapshot()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {
        "git:refs/heads/other",
        "git:logs/refs/heads/other",
        "git:worktrees/linked/index",
        "git:worktrees/linked/logs/HEAD",
    }
