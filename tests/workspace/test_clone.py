"""A private clone of whatever kind of repository the user has."""

import os
import shutil
from pathlib import Path

import pytest

from tests.workspace.ground import NO_FLOOR, Agent, Ground, UsersRepository, git
from whilly.workspace.clone import prepare
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.result import collect, publish
from whilly.workspace.source import Source


async def test_the_clone_has_the_files_the_history_and_the_tasks_branch(ground: Ground) -> None:
    workspace = await ground.prepare()
    agent = Agent(workspace)
    assert (workspace.path / "src/app.py").read_text(encoding="utf-8") == "print('hello')\n"
    assert workspace.base_commit == workspace.start_commit == ground.users.head
    assert agent.git("symbolic-ref", "HEAD") == "refs/heads/whilly/demo/T1"
    assert agent.git("status", "--porcelain") == ""
    assert agent.git("log", "--format=%s") == "First"
    assert agent.git("rev-parse", "origin/main") == agent.git("rev-parse", "origin/HEAD") == ground.users.head
    assert agent.git("fsck", "--full") == ""


async def test_an_agent_can_commit_in_it_but_has_nowhere_to_push(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.commit("Mine", {"new.py": "1\n"})
    assert agent.git("remote") == ""
    assert agent.git("log", "-1", "--format=%an") == "Whilly agent"


async def test_nothing_in_the_clone_is_shared_with_the_user(ground: Ground) -> None:
    workspace = await ground.prepare()
    inodes = {path.stat().st_ino for path in (ground.users.path / ".git").rglob("*") if path.is_file()}
    assert not inodes & {path.stat().st_ino for path in workspace.path.rglob("*") if path.is_file()}
    assert not (workspace.path / ".git/objects/info/alternates").exists()


async def test_packed_objects_tags_and_branches_come_along(ground: Ground) -> None:
    users = ground.users
    users.git("tag", "-a", "v1", "-m", "One")
    users.git("branch", "feature")
    users.git("gc", "-q")
    users.commit("Second", {"later.txt": "later\n"})
    agent = Agent(await ground.prepare())
    assert agent.git("describe") == f"v1-1-g{users.head[:7]}"
    assert agent.git("rev-parse", "origin/feature") == users.git("rev-parse", "feature")
    assert agent.git("fsck", "--full") == ""


async def test_results_of_other_tasks_are_no_branches_of_the_clone(ground: Ground) -> None:
    ground.users.git("branch", "whilly/demo/T0")
    agent = Agent(await ground.prepare())
    assert "whilly/demo/T0" not in agent.git("branch", "-a")


async def test_a_dirty_tree_gives_the_commit_and_a_note(ground: Ground) -> None:
    ground.users.write({"README.md": "Changed\n", "untracked.txt": "new\n"})
    workspace = await ground.prepare()
    assert (workspace.path / "README.md").read_text(encoding="utf-8") == "Hello\n"
    assert not (workspace.path / "untracked.txt").exists()
    (note,) = workspace.notes
    assert "not included" in note
    assert "README.md" in note
    assert "untracked.txt" in note


async def test_a_clean_tree_gives_no_note(ground: Ground) -> None:
    assert (await ground.prepare()).notes == ()


async def test_a_detached_head_is_a_base_like_any_other(ground: Ground) -> None:
    first = ground.users.head
    ground.users.commit("Second", {"b.txt": "b\n"})
    ground.users.git("checkout", "-q", "--detach", first)
    workspace = await ground.prepare()
    assert workspace.base_commit == first
    assert not (workspace.path / "b.txt").exists()


@pytest.mark.parametrize("name", ["main~1", "HEAD~1"])
async def test_a_base_may_be_named(ground: Ground, name: str) -> None:
    first = ground.users.head
    ground.users.commit("Second", {"b.txt": "b\n"})
    assert (await ground.prepare(base=name)).base_commit == first


@pytest.mark.parametrize(
    "name", ["nowhere", "--output=/tmp/whilly-pwned", "0" * 40, "$(touch /tmp/whilly-pwned)", "a\nb"]
)
async def test_a_base_that_is_no_commit_is_named(ground: Ground, name: str) -> None:
    with pytest.raises(WorkspaceFailed):
        await ground.prepare(base=name)
    assert ground.leftovers() == []
    assert not Path("/tmp/whilly-pwned").exists()


async def test_a_repository_without_commits_gets_a_result_branch_and_nothing_else(ground: Ground) -> None:
    empty = UsersRepository(ground.folder / "empty", empty=True)
    before = empty.snapshot()
    tips = []
    for task in ("T1", "T2"):
        workspace = await ground.prepare(task, source=empty.source)
        assert "no commits yet" in workspace.notes[0]
        Agent(workspace).write({f"{task}.txt": "1\n"})
        collected = await collect(workspace)
        assert await publish(workspace, collected) == f"whilly/demo/{task}"
        tips.append(collected.head_commit or "")
    assert empty.snapshot() == before
    assert set(empty.files_of(tips[0])) == {"T1.txt"}
    assert empty.git("rev-parse", f"{tips[0]}~1") == empty.git("rev-parse", f"{tips[1]}~1"), "one root for all tasks"
    empty.is_sound()
    # The user may begin from it.
    empty.git("merge", "-q", "whilly/demo/T1")
    assert (empty.path / "T1.txt").exists()


async def test_dependants_in_a_repository_without_commits_see_the_results(ground: Ground) -> None:
    empty = UsersRepository(ground.folder / "empty", empty=True)
    results = []
    for task in ("T1", "T2"):
        workspace = await ground.prepare(task, source=empty.source)
        Agent(workspace).write({f"{task}.txt": "1\n"})
        results.append((task, (await collect(workspace)).head_commit or ""))
    workspace = await ground.prepare("T3", source=empty.source, prerequisites=results)
    assert {path.name for path in workspace.path.iterdir()} == {".git", "T1.txt", "T2.txt"}
    # Also when the user has begun meanwhile, with a history of their own.
    empty.commit("Mine", {"README.md": "mine\n"})
    workspace = await ground.prepare("T4", source=empty.source, prerequisites=results)
    assert {path.name for path in workspace.path.iterdir()} == {".git", "README.md", "T1.txt", "T2.txt"}


async def test_a_folder_in_a_repository_stands_for_the_repository(ground: Ground) -> None:
    workspace = await ground.prepare(source=Source(ground.users.path / "src"))
    assert (workspace.path / "README.md").exists()
    assert workspace.source == ground.users.path


async def test_a_linked_worktree_gives_its_own_commit(ground: Ground) -> None:
    linked = ground.folder / "linked"
    ground.users.git("worktree", "add", "-q", "-b", "other", str(linked))
    (linked / "other.txt").write_text("other\n", encoding="utf-8")
    git(linked, "add", "-A")
    git(linked, "commit", "-qm", "Other")
    workspace = await ground.prepare(source=Source(linked))
    Agent(workspace).write({"mine.txt": "mine\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert "other.txt" in ground.users.files_of("whilly/demo/T1")


async def test_a_bare_repository(ground: Ground) -> None:
    bare = ground.folder / "bare.git"
    git(ground.folder, "clone", "-q", "--bare", str(ground.users.path), str(bare))
    workspace = await ground.prepare(source=Source(bare))
    Agent(workspace).write({"mine.txt": "mine\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert git(bare, "show", "whilly/demo/T1:mine.txt") == "mine"


async def test_a_shallow_repository_stays_shallow(ground: Ground) -> None:
    ground.users.commit("Second", {"b.txt": "b\n"})
    ground.users.commit("Third", {"c.txt": "c\n"})
    shallow = ground.folder / "shallow"
    git(ground.folder, "clone", "-q", "--depth=1", ground.users.path.as_uri(), str(shallow))
    workspace = await ground.prepare(source=Source(shallow))
    agent = Agent(workspace)
    assert agent.git("log", "--format=%s") == "Third"
    agent.commit("Mine", {"mine.txt": "mine\n"})
    agent.write({"mine.txt": "more\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert git(shallow, "log", "--format=%s", "whilly/demo/T1").splitlines()[-1] == "Third"
    assert git(shallow, "fsck", "--full") == ""


async def test_a_repository_with_sha256_names(ground: Ground) -> None:
    modern = UsersRepository(ground.folder / "modern", "--object-format=sha256")
    workspace = await ground.prepare(source=modern.source)
    Agent(workspace).commit("Mine", {"mine.txt": "mine\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert len(collected.head_commit or "") == 64
    modern.is_sound()


async def test_a_repository_that_borrows_its_objects_from_another(ground: Ground) -> None:
    sharing = ground.folder / "sharing"
    git(ground.folder, "clone", "-q", "--shared", str(ground.users.path), str(sharing))
    workspace = await ground.prepare(source=Source(sharing))
    Agent(workspace).write({"mine.txt": "mine\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    shutil.rmtree(ground.users.path)
    assert Agent(workspace).git("log", "--format=%s") == "First", "the clone needs neither of them"


async def test_a_repository_without_some_of_its_objects_says_so(ground: Ground) -> None:
    blob = ground.users.git("rev-parse", "HEAD:README.md")
    (ground.users.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkspaceFailed, match="lacks objects"):
        await ground.prepare()
    assert ground.leftovers() == []


async def test_a_repository_in_a_path_with_odd_characters(tmp_path: Path) -> None:
    ground = Ground(tmp_path / 'odd: "name" ü 修 \\ end')
    workspace = await ground.prepare()
    Agent(workspace).commit("Mine", {"mine.txt": "mine\n"})
    collected = await collect(workspace)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    ground.users.is_sound()


async def test_what_is_no_repository_is_said_in_one_sentence(ground: Ground) -> None:
    plain = ground.folder / "plain"
    plain.mkdir()
    (plain / "file").write_text("", encoding="utf-8")
    for path, sentence in [
        (plain, f"{plain} is not a git repository; run `git init` there or name another with --repo."),
        (plain / "none", f"{plain / 'none'} does not exist; name an existing git repository with --repo."),
        (plain / "file", f"{plain / 'file'} is a file; name the folder of a git repository with --repo."),
    ]:
        with pytest.raises(WorkspaceFailed) as failed:
            await ground.prepare(source=Source(path))
        assert str(failed.value) == sentence
    assert ground.leftovers() == []


async def test_without_git_that_is_what_is_said(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceFailed, match="git was not found on the PATH"):
        await ground.prepare()


@pytest.mark.parametrize("task", ["..", "a..b", "a/b", "-rf", "feature.lock", "", "@{u}", "修复"])
async def test_ids_that_are_no_branch_names_are_refused(ground: Ground, task: str) -> None:
    with pytest.raises(WorkspaceFailed, match="branch name"):
        await prepare(ground.users.source, root=ground.root, plan="demo", task=task, epoch=1, floor=NO_FLOOR)
    assert not ground.root.exists()


async def test_a_folder_for_workspaces_that_cannot_be_made_is_no_reason_to_work_elsewhere(ground: Ground) -> None:
    ground.root.write_text("in the way", encoding="utf-8")
    before = ground.users.snapshot()
    with pytest.raises(WorkspaceFailed, match="could not be made"):
        await ground.prepare()
    assert ground.users.snapshot() == before


async def test_the_users_own_ignore_lists_hold_in_the_clone(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n", encoding="utf-8")
    (home / "ignored").write_text("*.mine\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with (ground.users.path / ".git/info/exclude").open("a", encoding="utf-8") as file:
        file.write("*.private\n")
    workspace = await ground.prepare()
    Agent(workspace).write({"a.mine": "1", "b.private": "2", "c.txt": "3"})
    collected = await collect(workspace)
    assert set(ground.users.files_of(collected.head_commit or "")) == {"README.md", "src/app.py", "run.sh", "c.txt"}


async def test_two_control_planes_may_use_the_same_names_at_once(ground: Ground) -> None:
    one, two = await ground.prepare(), await ground.prepare()
    assert one.home != two.home
    for workspace, text in ((one, "one"), (two, "two")):
        Agent(workspace).write({"mine.txt": text})
    refs = [(await collect(workspace)).kept_ref for workspace in (one, two)]
    assert refs == ["refs/whilly/demo/T1/e1", "refs/whilly/demo/T1/e1.2"]


async def test_the_fault_of_a_repository_is_told_in_gits_own_words(ground: Ground) -> None:
    (ground.users.path / ".git/config").write_text("[core\n", encoding="utf-8")
    with pytest.raises(WorkspaceFailed, match="bad config line 1"):
        await ground.prepare()
    assert ground.leftovers() == []


async def test_file_names_that_are_no_text_survive(ground: Ground) -> None:
    name = os.fsdecode(b"caf\xe9 \xf0\x9f.txt")
    ground.users.commit("Odd", {name: "odd\n"})
    workspace = await ground.prepare()
    Agent(workspace).write({name: "changed\n", "neu 修复 🚀.txt": "new\n"})
    collected = await collect(workspace)
    assert collected.files_changed == 2
    assert ground.users.git("show", f"{collected.head_commit}:{name}") == "changed"
