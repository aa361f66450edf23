"""Whatever an agent leaves, and however, stays reachable by a printed ref in the user's repository."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground, git
from whilly.workspace.garbage import discard
from whilly.workspace.message import SUBJECT
from whilly.workspace.result import Collected, collect, publish

AUTHOR = "Whilly <whilly@localhost>"


async def gathered(ground: Ground, agent: Agent) -> Collected:
    """Collect, twice to the same effect, and remove the clone: what is asserted later is in the user's repository."""
    collected = await collect(agent.workspace)
    again = await collect(agent.workspace)
    assert replace(again, notes=()) == replace(collected, notes=()), (
        "notes are about what had to be moved out of the way"
    )
    assert await discard(agent.workspace)
    assert ground.leftovers() == []
    ground.users.is_sound()
    return collected


async def test_uncommitted_and_untracked_work_is_committed_by_whilly(ground: Ground) -> None:
    agent = Agent(await ground.prepare(title="Say hello 修复登录问题 🚀"))
    agent.write({"README.md": "Changed\n", "new/file.txt": "new\n"})
    collected = await gathered(ground, agent)
    head = collected.head_commit or ""
    assert (collected.files_changed, collected.violated, collected.notes) == (2, "", ())
    assert collected.kept_ref == "refs/whilly/demo/T1/e1"
    assert ground.users.git("rev-parse", collected.kept_ref) == head
    assert ground.users.git("log", "-1", "--format=%an <%ae>|%cn <%ce>", head) == f"{AUTHOR}|{AUTHOR}"
    assert ground.users.git("log", "-1", "--format=%s", head) == "T1: Say hello 修复登录问题 🚀"
    trailers = ground.users.git("log", "-1", "--format=%(trailers:only,unfold)", head)
    assert trailers.split("\n") == ["Whilly-Plan: demo", "Whilly-Task: T1", "Whilly-Attempt: 1"]
    assert ground.users.git("rev-parse", f"{head}~1") == ground.users.head


async def test_commits_on_the_branch_are_kept_as_they_are(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("config", "user.name", "Agent Smith")
    own = agent.commit("My own words", {"a.txt": "a\n"})
    collected = await gathered(ground, agent)
    assert (collected.head_commit, collected.violated) == (own, "")
    assert ground.users.git("log", "-1", "--format=%an: %s", own) == "Agent Smith: My own words"


async def test_what_comes_after_the_last_commit_is_committed_on_top(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    own = agent.commit("Mine", {"a.txt": "a\n"})
    agent.write({"b.txt": "b\n"})
    collected = await gathered(ground, agent)
    assert ground.users.git("rev-parse", f"{collected.head_commit}~1") == own
    assert collected.files_changed == 2


async def test_commits_on_a_detached_head_are_the_result(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("checkout", "-q", "--detach")
    own = agent.commit("Mine", {"a.txt": "a\n"})
    collected = await gathered(ground, agent)
    assert (collected.head_commit, collected.violated) == (own, "")


async def test_commits_on_a_detached_head_that_was_left_again_are_kept(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("checkout", "-q", "--detach")
    own = agent.commit("Mine", {"a.txt": "detached words\n"})
    agent.git("checkout", "-q", "whilly/demo/T1")
    collected = await gathered(ground, agent)
    assert collected.head_commit is None
    assert ground.users.git("rev-parse", collected.kept_ref) == own


async def test_a_branch_of_the_agents_own_is_fine(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("checkout", "-q", "-b", "feature/login")
    own = agent.commit("Mine", {"a.txt": "a\n"})
    collected = await gathered(ground, agent)
    assert (collected.head_commit, collected.violated) == (own, "")


async def test_only_untracked_files(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"only.txt": "untracked\n"})
    assert (await gathered(ground, agent)).files_changed == 1


async def test_ignored_files_are_no_work(ground: Ground) -> None:
    ground.users.commit("Ignore", {".gitignore": "*.log\nbuild/\n"})
    agent = Agent(await ground.prepare())
    agent.write({"a.log": "noise\n", "build/out": "noise\n"})
    collected = await gathered(ground, agent)
    assert (collected.head_commit, collected.files_changed, collected.kept_ref) == (None, 0, "")


async def test_an_agent_cannot_hide_tracked_changes_by_ignoring_them(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({".gitignore": "*\n", "README.md": "Changed\n"})
    (agent.path / ".git/info/exclude").write_text("*\n", encoding="utf-8")
    agent.git("update-index", "--assume-unchanged", "README.md")
    agent.git("update-index", "--skip-worktree", "run.sh")
    agent.write({"run.sh": "changed\n"})
    collected = await gathered(ground, agent)
    assert ground.users.git("show", f"{collected.head_commit}:README.md") == "Changed"
    assert ground.users.git("show", f"{collected.head_commit}:run.sh") == "changed"


async def test_stashes_are_kept(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    for number in (1, 2):
        agent.write({"README.md": f"stash {number}\n", f"untracked{number}.txt": f"untracked {number}\n"})
        agent.git("stash", "push", "-q", "--include-untracked")
    collected = await gathered(ground, agent)
    assert collected.head_commit is None
    found = ground.users.reachable_files(collected.kept_ref)
    assert found >= {"stash 1", "stash 2", "untracked 1", "untracked 2"}


async def test_a_stash_beside_a_result_is_kept_under_the_same_ref(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"README.md": "stashed\n"})
    agent.git("stash", "push", "-q")
    agent.write({"a.txt": "result\n"})
    collected = await gathered(ground, agent)
    head = collected.head_commit or ""
    assert "stashed" not in ground.users.files_of(head).values()
    assert ground.users.reachable_files(collected.kept_ref) >= {"stashed", "result"}
    assert ground.users.git("rev-parse", f"{collected.kept_ref}^1") == head
    assert f"{head} is the result" in ground.users.git("log", "-1", "--format=%B", collected.kept_ref)


async def test_amended_and_abandoned_commits_are_kept(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.commit("One", {"a.txt": "first words\n"})
    agent.write({"a.txt": "other words\n"})
    agent.git("commit", "-q", "-a", "--amend", "-m", "Two")
    agent.commit("Three", {"b.txt": "dropped words\n"})
    agent.git("reset", "-q", "--hard", "HEAD~1")
    collected = await gathered(ground, agent)
    assert ground.users.git("show", f"{collected.head_commit}:a.txt") == "other words"
    assert ground.users.reachable_files(collected.kept_ref) >= {"first words", "other words", "dropped words"}


async def test_a_great_many_abandoned_commits(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    tree, start = agent.git("rev-parse", "HEAD^{tree}"), agent.workspace.start_commit
    feed = "".join(
        f"commit refs/heads/x{n}\ncommitter x <x@example.com> {n} +0000\ndata 1\nx\nfrom {start}\nM 040000 {tree} \n\n"
        for n in range(700)
    )
    (agent.path / "../feed").write_text(feed, encoding="utf-8")
    agent.git("-c", "alias.take=!git fast-import --quiet < ../feed", "take")
    agent.write({"a.txt": "the result\n"})
    collected = await gathered(ground, agent)
    assert collected.files_changed == 1
    reached = ground.users.git("rev-list", "--count", collected.kept_ref, f"^{start}")
    assert int(reached) == 700 + 1 + 4, "700 of them, the result, and what holds them together"


@pytest.mark.parametrize(
    "change",
    [{"README.md": "Hello \n"}, {"README.md": "Hello\n\n"}, {"README.md": "\tHello\n"}, {"README.md": "Hello\r\n"}],
)
async def test_blanks_count_as_changes(ground: Ground, change: dict[str, str]) -> None:
    agent = Agent(await ground.prepare())
    agent.write(change)
    assert (await gathered(ground, agent)).files_changed == 1


async def test_a_mode_counts_as_a_change(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    (agent.path / "run.sh").chmod(0o755)
    collected = await gathered(ground, agent)
    assert ground.users.git("ls-tree", str(collected.head_commit), "run.sh").startswith("100755")


async def test_nothing_and_what_amounts_to_nothing(ground: Ground) -> None:
    for writes in ((), ("Changed\n", "Hello\n")):
        agent = Agent(await ground.prepare())
        for content in writes:
            agent.write({"README.md": content})
        collected = await gathered(ground, agent)
        assert (collected.head_commit, collected.files_changed, collected.kept_ref) == (None, 0, "")
        assert collected.unchanged
    assert [ref for ref in ground.users.refs() if "whilly" in ref] == []


async def test_commits_that_undo_each_other_are_no_result_but_kept(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.commit("Do", {"a.txt": "a passing thought\n"})
    agent.git("revert", "--no-edit", "HEAD")
    collected = await gathered(ground, agent)
    assert (collected.head_commit, collected.files_changed) == (None, 0)
    assert "a passing thought" in ground.users.reachable_files(collected.kept_ref)


async def test_an_empty_commit_is_no_change(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("commit", "-q", "--allow-empty", "-m", "Done!")
    assert (await gathered(ground, agent)).head_commit is None


@pytest.mark.parametrize("how", ["commit", "update-ref", "tag", "origin"])
async def test_moving_what_is_the_users_is_a_violation(ground: Ground, how: str) -> None:
    ground.users.git("tag", "v1")
    agent = Agent(await ground.prepare())
    if how == "commit":
        agent.git("checkout", "-q", "main")
        agent.git("commit", "-q", "--allow-empty", "-m", "x")
    else:
        own = agent.commit("Mine", {"a.txt": "a\n"})
        ref = {"update-ref": "refs/heads/main", "tag": "refs/tags/v1", "origin": "refs/remotes/origin/main"}[how]
        agent.git("update-ref", ref, own)
    before = ground.users.refs()["refs/heads/main"]
    collected = await gathered(ground, agent)
    moved = "v1" if how == "tag" else "main"
    assert collected.violated == f"The agent moved what is not the task's: {moved}."
    assert ground.users.refs()["refs/heads/main"] == before
    assert ground.users.refs()["refs/tags/v1"] == before


async def test_looking_at_the_users_branch_is_none(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("checkout", "-q", "main")
    agent.git("checkout", "-q", "whilly/demo/T1")
    agent.write({"a.txt": "a\n"})
    assert (await gathered(ground, agent)).violated == ""


async def test_a_branch_that_no_longer_builds_on_its_start(ground: Ground) -> None:
    ground.users.commit("Second", {"b.txt": "b\n"})
    agent = Agent(await ground.prepare())
    agent.git("reset", "-q", "--hard", "HEAD~1")
    own = agent.commit("Elsewhere", {"c.txt": "other history\n"})
    collected = await gathered(ground, agent)
    assert "does not build on" in collected.violated
    head = collected.head_commit or ""
    assert ground.users.git("rev-parse", f"{head}~1") == ground.users.head
    assert own in ground.users.git("rev-list", collected.kept_ref)


async def test_work_on_the_branch_counts_although_the_agent_went_elsewhere(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    own = agent.commit("Mine", {"a.txt": "a\n"})
    agent.git("checkout", "-q", "main")
    agent.write({"b.txt": "on top of main\n"})
    collected = await gathered(ground, agent)
    assert collected.head_commit == own
    assert "on top of main" in ground.users.reachable_files(collected.kept_ref)


async def test_an_orphan_branch_without_commits(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.git("checkout", "-q", "--orphan", "fresh")
    agent.write({"a.txt": "a\n"})
    collected = await gathered(ground, agent)
    assert "a branch without commits" in collected.violated
    assert collected.files_changed == 1


@pytest.mark.parametrize("how", ["removed", "file", "link", "empty", "garbled"])
async def test_without_its_git_the_files_are_still_there(ground: Ground, how: str) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"a.txt": "work\n"})
    own = agent.path / ".git"
    if how == "garbled":
        (own / "HEAD").write_bytes(b"\xff\0nonsense")
    else:
        shutil.rmtree(own)
    if how == "file":
        own.write_text(f"gitdir: {ground.users.path / '.git'}\n", encoding="utf-8")
    elif how == "link":
        own.symlink_to(ground.users.path / ".git")
    elif how == "empty":
        own.mkdir()
    before = ground.users.snapshot()
    collected = await gathered(ground, agent)
    assert collected.violated
    assert ground.users.git("show", f"{collected.head_commit}:a.txt") == "work"
    assert ground.users.snapshot() == before


@pytest.mark.parametrize("how", ["removed", "link", "file", "other folder"])
async def test_another_folder_in_place_of_the_clone(ground: Ground, how: str) -> None:
    secret = ground.folder / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("a secret\n", encoding="utf-8")
    agent = Agent(await ground.prepare())
    shutil.rmtree(agent.path)
    if how == "link":
        agent.path.symlink_to(secret)
    elif how == "file":
        agent.path.write_text("", encoding="utf-8")
    elif how == "other folder":
        agent.write({"a.txt": "work\n"})
    collected = await gathered(ground, agent)
    assert collected.violated
    assert (collected.head_commit is not None) == (how == "other folder")
    assert (secret / "key.txt").exists()
    if collected.kept_ref:
        assert "a secret" not in ground.users.reachable_files(collected.kept_ref)


async def test_the_files_of_a_nested_repository_are_kept(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    for name, commits in (("app", True), ("app/deeper", True), ("begun", False)):
        agent.write({f"{name}/inside.txt": f"in {name}\n"})
        git(agent.path / name, "init", "-q")
        if commits:
            git(agent.path / name, "add", "inside.txt")
            git(agent.path / name, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")
    collected = await gathered(ground, agent)
    names = set(ground.users.files_of(collected.head_commit or ""))
    assert names >= {"app/inside.txt", "app/deeper/inside.txt", "begun/inside.txt"}
    assert "160000" not in ground.users.git("ls-tree", "-r", str(collected.head_commit))
    assert "app" in collected.notes[0]


@pytest.mark.parametrize("where", [".claude/worktrees/x", "../x"])
async def test_further_worktrees_of_the_agent_are_kept_apart(ground: Ground, where: str) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"a.txt": "the result\n"})
    agent.git("worktree", "add", "-q", "-b", "side", where)
    side = Path(os.path.normpath(agent.path / where))
    (side / "side.txt").write_text("uncommitted aside\n", encoding="utf-8")
    collected = await collect(agent.workspace)
    assert set(ground.users.files_of(collected.head_commit or "")) == {"README.md", "src/app.py", "run.sh", "a.txt"}
    assert "uncommitted aside" in ground.users.reachable_files(collected.kept_ref)
    assert await discard(agent.workspace)
    ground.users.is_sound()


async def test_pipes_and_sockets_do_not_hold_anybody_up(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"sub/a.txt": "a\n"})
    for name in (".gitignore", "sub/.gitattributes", "pipe"):
        os.mkfifo(agent.path / name)
    collected = await gathered(ground, agent)
    assert collected.files_changed == 1
    assert "Pipes" in collected.notes[0]


async def test_links_are_kept_as_links(ground: Ground) -> None:
    secret = ground.folder / "secret.txt"
    secret.write_text("a secret\n", encoding="utf-8")
    agent = Agent(await ground.prepare())
    (agent.path / "link").symlink_to(secret)
    (agent.path / "folder").symlink_to(ground.folder)
    collected = await gathered(ground, agent)
    assert ground.users.git("show", f"{collected.head_commit}:link") == str(secret)
    assert "a secret" not in ground.users.reachable_files(collected.kept_ref)


async def test_a_file_that_contradicts_its_attributes_is_kept_as_it_is(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({".gitattributes": "*.txt working-tree-encoding=UTF-16\n", "a.txt": b"no UTF-16\xff", "b.md": "b\n"})
    collected = await gathered(ground, agent)
    assert collected.files_changed == 3


async def test_large_and_binary_files(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    content = os.urandom(8 * 2**20)
    agent.write({"large.bin": content, "empty": b"", "nul\n\ttab": b"\0"})
    collected = await gathered(ground, agent)
    assert ground.users.git("cat-file", "-s", f"{collected.head_commit}:large.bin") == str(len(content))
    assert collected.files_changed == 3


@pytest.mark.parametrize(
    "title",
    [
        "",
        "\0",
        "\x1b]0;title\x07 red \x1b[31m",
        "x" * 400,
        "\ud83d half",
        "-F /etc/passwd",
        "a\n\nb",
        "‮evil",
        "🚀" * 90,
    ],
)
async def test_any_title_makes_a_decent_message(ground: Ground, title: str) -> None:
    agent = Agent(await ground.prepare(title=title))
    agent.write({"a.txt": "a\n"})
    collected = await gathered(ground, agent)
    subject = ground.users.git("log", "-1", "--format=%s", str(collected.head_commit))
    assert subject.startswith("T1: ")
    assert len(subject) <= SUBJECT
    assert subject.isprintable()


async def test_a_second_look_after_more_work_moves_the_same_ref(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"a.txt": "a\n"})
    first = await collect(agent.workspace)
    agent.write({"b.txt": "b\n"})
    second = await collect(agent.workspace)
    assert first.kept_ref == second.kept_ref
    assert second.files_changed == 2
    assert await publish(agent.workspace, second) == "whilly/demo/T1"
