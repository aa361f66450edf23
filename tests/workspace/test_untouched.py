"""The user's files, index, HEAD, configuration, hooks and refs are the same before and after, in whatever state."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground, git
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.garbage import discard
from whilly.workspace.result import collect, publish


def clean(ground: Ground) -> None:
    ground.users.git("status")


def dirty(ground: Ground) -> None:
    ground.users.write({"README.md": "Changed\n", "untracked.txt": "new\n", "staged.txt": "staged\n"})
    ground.users.git("add", "staged.txt")
    (ground.users.path / "run.sh").unlink()


def detached(ground: Ground) -> None:
    ground.users.git("checkout", "-q", "--detach")


def merging(ground: Ground) -> None:
    ground.users.git("checkout", "-q", "-b", "side")
    ground.users.commit("Side", {"README.md": "Side\n"})
    ground.users.git("checkout", "-q", "main")
    ground.users.commit("Main", {"README.md": "Main\n"})
    ground.users.git("merge", "side", check=False)
    assert (ground.users.path / ".git/MERGE_HEAD").exists()


def with_submodule(ground: Ground) -> None:
    other = ground.folder / "other"
    # Git refreshes the time of an object that it would write again, and a linked one is in two repositories.
    git(ground.folder, "clone", "-q", "--no-hardlinks", str(ground.users.path), str(other))
    ground.users.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "libs/other")
    ground.users.git("commit", "-q", "--no-verify", "-m", "Submodule")
    (ground.users.path / "libs/other/README.md").write_text("dirty inside\n", encoding="utf-8")


def with_failing_hooks(ground: Ground) -> None:
    for name in (
        "pre-commit",
        "commit-msg",
        "reference-transaction",
        "post-checkout",
        "update",
        "pre-receive",
        "post-merge",
    ):
        hook = ground.users.path / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{ground.folder}/canary-{name}'\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)


def with_commands_in_the_configuration(ground: Ground) -> None:
    monitor = ground.folder / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ntouch '{ground.folder}/canary-config'\n", encoding="utf-8")
    monitor.chmod(0o755)
    ground.users.commit("Filtered", {".gitattributes": "* filter=mine merge=mine diff=mine\n"})
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "filter.mine.clean", "filter.mine.smudge",
                 "filter.mine.process", "merge.mine.driver", "diff.mine.textconv", "core.alternateRefsCommand",
                 "uploadpack.packObjectsHook", "gpg.program"):  # fmt: skip
        ground.users.git("config", name, str(monitor))
    ground.users.git("config", "commit.gpgSign", "true")
    # The index must not look older than it is, or git has a reason to look into the files again.
    ground.users.write({"README.md": "Touched\n"})


def with_unusual_features(ground: Ground) -> None:
    ground.users.git("config", "core.untrackedCache", "true")
    ground.users.git("config", "core.splitIndex", "true")
    ground.users.git("config", "gc.auto", "1")
    ground.users.git("config", "fetch.writeCommitGraph", "true")
    ground.users.git("config", "core.logAllRefUpdates", "always")
    ground.users.git("commit-graph", "write", "--reachable")
    ground.users.git("status")


def with_stash_and_worktree(ground: Ground) -> None:
    ground.users.write({"README.md": "stashed\n"})
    ground.users.git("stash")
    ground.users.git("worktree", "add", "-q", "-b", "aside", str(ground.folder / "aside"))
    ground.users.git("pack-refs", "--all")


STATES = [clean, dirty, detached, merging, with_submodule, with_failing_hooks, with_commands_in_the_configuration,
          with_unusual_features, with_stash_and_worktree]  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_a_whole_attempt(ground: Ground, state: Callable[[Ground], None]) -> None:
    state(ground)
    before = ground.users.snapshot()
    workspace = await ground.prepare()
    assert ground.users.snapshot() == before, "prepare"
    agent = Agent(workspace)
    agent.commit("Mine", {"a.txt": "a\n"})
    agent.write({"README.md": "The agent was here\n", "src/new.py": "new\n"})
    collected = await collect(workspace)
    assert ground.users.snapshot() == before, "collect"
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert ground.users.snapshot() == before, "publish"
    async with clean_checkout(workspace, collected.head_commit or "") as folder:
        assert (folder / "README.md").read_text(encoding="utf-8") == "The agent was here\n"
    assert await discard(workspace)
    assert ground.users.snapshot() == before, "afterwards"
    assert ground.users.files_of("whilly/demo/T1")["src/new.py"] == "new"
    assert [path.name for path in ground.folder.iterdir() if path.name.startswith("canary")] == []
    assert ground.leftovers() == []


async def test_submodules_stay_what_they_are(ground: Ground) -> None:
    with_submodule(ground)
    workspace = await ground.prepare()
    assert workspace.gitlinks == ("libs/other",)
    assert list((workspace.path / "libs/other").iterdir()) == [], "not initialised"
    agent = Agent(workspace)
    # An agent that fills it, with a repository or without, changes nothing about it.
    git(workspace.path / "libs/other", "init", "-q")
    agent.write({"libs/other/inside.txt": "inside\n", "a.txt": "a\n"})
    collected = await collect(workspace)
    link = ground.users.git("ls-tree", "HEAD", "libs/other")
    assert ground.users.git("ls-tree", str(collected.head_commit), "libs/other") == link
    assert collected.files_changed == 1
    assert await publish(workspace, collected) == "whilly/demo/T1"
    async with clean_checkout(workspace, collected.head_commit or "") as folder:
        assert (folder / "a.txt").exists()


async def test_results_are_merged_beside_submodules(ground: Ground) -> None:
    with_submodule(ground)
    results = []
    for task in ("T1", "T2"):
        workspace = await ground.prepare(task)
        Agent(workspace).write({f"{task}.txt": "1\n"})
        results.append((task, (await collect(workspace)).head_commit or ""))
    workspace = await ground.prepare("T3", prerequisites=results)
    assert workspace.gitlinks == ("libs/other",)
    Agent(workspace).write({"T3.txt": "1\n"})
    collected = await collect(workspace)
    assert set(ground.users.files_of(collected.head_commit or "")) >= {"T1.txt", "T2.txt", "T3.txt"}
    assert ground.users.git("ls-tree", str(collected.head_commit), "libs/other").startswith("160000")


async def test_a_broken_submodule_is_no_reason_to_fail(ground: Ground) -> None:
    ground.users.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},gone")
    ground.users.git("commit", "-q", "--no-verify", "-m", "A submodule that nobody can have")
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert ground.users.git("ls-tree", str(collected.head_commit), "gone").startswith("160000 commit 1111")


async def test_git_variables_of_whoever_starts_whilly_mean_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    git(tmp_path, "init", "-q", str(trap))
    before, trapped = ground.users.snapshot(), sorted(trap.rglob("*"))
    canary = tmp_path / "canary"
    for name, value in {
        "GIT_DIR": str(trap / ".git"),
        "GIT_WORK_TREE": str(trap),
        "GIT_INDEX_FILE": str(trap / "index"),
        "GIT_OBJECT_DIRECTORY": str(trap / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(trap),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_PREFIX": "sub/",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {canary}",
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='touch {canary}'",
        "GIT_CONFIG_GLOBAL": str(trap / "gitconfig"),
        "GIT_EXTERNAL_DIFF": f"touch {canary}",
        "GIT_SSH_COMMAND": f"touch {canary}",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_DEFAULT_HASH": "sha256",
    }.items():
        monkeypatch.setenv(name, value)
    (trap / "gitconfig").write_text(f"[core]\n\tfsmonitor = touch {canary}\n", encoding="utf-8")
    trapped.append(trap / "gitconfig")
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert await discard(workspace)
    assert ground.users.snapshot() == before
    assert ground.users.git("log", "-1", "--format=%an", "whilly/demo/T1") == "Whilly"
    assert sorted(trap.rglob("*")) == sorted(trapped)
    assert not canary.exists()
    assert not (tmp_path / "trace").exists()


async def test_started_from_inside_a_git_hook(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    # What git sets for a hook of a commit with paths.
    monkeypatch.chdir(ground.users.path)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index-1234.lock")
    before = ground.users.snapshot()
    workspace = await ground.prepare()
    Agent(workspace).write({"a.txt": "a\n"})
    assert await publish(workspace, await collect(workspace)) == "whilly/demo/T1"
    assert ground.users.snapshot() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can act for others")
async def test_in_somebody_elses_repository_root_leaves_only_files_of_theirs() -> None:
    # Not below pytest's folder, into which only root may look.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ground = Ground(Path(folder))
        for path in (ground.users.path, *ground.users.path.rglob("*")):
            os.chown(path, 1000, 1000, follow_symlinks=False)
        workspace = await ground.prepare()
        Agent(workspace).write({"a.txt": "a\n"})
        collected = await collect(workspace)
        assert await publish(workspace, collected) == "whilly/demo/T1"
        assert {path.lstat().st_uid for path in ground.users.path.rglob("*")} == {1000}
        assert await discard(workspace)
