"""Collects what an attempt left, and publishes its result in the user's repository.

Two steps, because the checks come in between. After `collect`, every tracked and untracked file and every commit of the
attempt is reachable in the user's repository, whatever becomes of it; `publish` moves the task's branch.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from whilly.workspace.attempt import BUSY, COLLECTED, Workspace, read_json
from whilly.workspace.ending import Ending, ending_of
from whilly.workspace.errors import GitFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.inplace import publish_in_place
from whilly.workspace.keeping import keep
from whilly.workspace.locks import held
from whilly.workspace.looking import Looked, look_in_place, look_into_clone, unreadable
from whilly.workspace.message import result_message
from whilly.workspace.publishing import Say, publish_branch, silent
from whilly.workspace.snapshot import add_all, differing, tree_of_folder, write_tree

_MOST_COMMITS = 20_000
"""Commits of one attempt that are looked at."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What an attempt left, safe in the user's repository."""

    head_commit: str | None
    """The result, on top of the workspace's start; None when nothing differs from the base."""
    files_changed: int
    """Between base and result; a blank or a file mode counts."""
    kept_ref: str
    """A ref in the user's repository that reaches everything; empty when nothing was left."""
    branch: str
    """Where `publish` puts the result."""
    violated: str = ""
    """What the agent did to the repository that it must not do; empty: nothing."""
    unchanged: bool = False
    """The result is where the attempt started: a repair attempt that changed nothing."""
    notes: tuple[str, ...] = ()
    """Sentences for people."""


async def collect(workspace: Workspace) -> Collected:
    """Commit what the agent left, and keep all of it. Call it when nothing of the agent runs any more.

    Doing it again gives the same. Raises WorkspaceFailed, NoSpace; the workspace then still has everything.
    """
    async with held(workspace.home / BUSY) as lock:
        git = replace(workspace.git(), inherit=(lock,))
        # Whoever wrote this one held the lock that is ours now, and is dead.
        (workspace.trusted / "index.lock").unlink(missing_ok=True)
        if workspace.in_place:
            looked = await look_in_place(workspace)
        else:
            looked = await asyncio.to_thread(look_into_clone, workspace)
        if looked.files_gone:
            await keep(workspace, git, [], {})
            return Collected(None, 0, "", workspace.branch, looked.violated, notes=looked.notes)
        if said := await add_all(git, looked.leave_out):
            note = f"Not everything could be recorded; git says: {said[:500]}"
            looked = replace(looked, notes=(*looked.notes, note))
        return await _judged(workspace, replace(git, borrowed=looked.borrowed), looked)


async def publish(workspace: Workspace, collected: Collected, say: Say = silent) -> str:
    """Put the result where people look for it; gives the branch, or the ref where it is instead.

    The branch is moved by compare-and-swap, and never when that would touch a checkout of the user's or drop a commit
    that is not Whilly's own; `say` is then told why in one sentence. Empty: there is no result. Doing it again gives
    the same. Raises WorkspaceFailed.
    """
    if collected.head_commit is None:
        return ""
    if workspace.in_place:
        return await publish_in_place(workspace, collected.head_commit, collected.kept_ref, say)
    return await publish_branch(workspace, collected.head_commit, collected.kept_ref, say)


async def _judged(workspace: Workspace, git: Git, looked: Looked) -> Collected:
    """What is recorded, put together with the agent's own commits; without these when they are broken."""
    try:
        new = await _new_commits(workspace, git, looked)
    except GitFailed:
        looked, new = unreadable(looked), {}
    ending = ending_of(looked.left, new, start=workspace.start_commit, branch=workspace.ref, known=looked.known)
    ending = replace(ending, violated=f"{looked.violated} {ending.violated}".strip())
    try:
        return await _collected(workspace, git, looked, ending)
    except GitFailed as error:
        plain = Ending(workspace.start_commit, violated=ending.violated)
        if ending != plain:
            # The agent's commits are broken. Its files are still its work.
            why = f"{plain.violated} The agent's commits could not be kept, only its files: {error}".strip()
            return await _collected(workspace, replace(git, borrowed=()), looked, replace(plain, violated=why))
        if "fsck error" not in error.said:
            raise
        why = f"What the agent left is not fit for a repository and stays in {workspace.home}: {error}"
        return Collected(None, 0, "", workspace.branch, why, notes=looked.notes)


async def _new_commits(workspace: Workspace, git: Git, looked: Looked) -> dict[str, tuple[str, ...]]:
    """The agent's commits, each with its parents."""
    known = {workspace.start_commit, *looked.known.values()}
    if not looked.left.named - known:
        return {}
    named = "".join(f"{commit}\n" for commit in sorted(looked.left.named))
    options = ("--ignore-missing", "--parents", f"--max-count={_MOST_COMMITS}", "--stdin", "--not", "--all")
    listed = await git.run("rev-list", *options, feed=named.encode())
    lines = (line.split() for line in listed.text.splitlines())
    return {commit: tuple(parents) for commit, *parents in lines}


async def _collected(workspace: Workspace, git: Git, looked: Looked, ending: Ending) -> Collected:
    base, start = workspace.base_commit, workspace.start_commit
    differs = await differing(git, ending.parent)
    record = await _commit_of_files(workspace, git, ending.parent) if differs else {}
    files = record.get("files", ending.parent)
    result = ending.ahead or files
    if result == files and ending.parent == base:
        changed = len(differs)
    else:
        changed = await _files_between(git, base, result)
    kept = {result: "is the result"} if changed else {}
    for commit in (result, files, *ending.tips):
        if commit not in (base, start):
            kept.setdefault(commit, "was left beside it")
    for folder in looked.worktrees:
        commit = await _commit_of_folder(workspace, git, folder.name, folder)
        kept.setdefault(commit, f"has the files of the further worktree {folder.name}")
    return Collected(
        head_commit=result if changed else None,
        files_changed=changed,
        kept_ref=await keep(workspace, git, list(kept.items()), record),
        branch=workspace.branch,
        violated=ending.violated,
        unchanged=result == start,
        notes=looked.notes,
    )


async def _commit_of_files(workspace: Workspace, git: Git, parent: str) -> dict[str, str]:
    """Record the index as a commit: the same one as before when nothing has changed since."""
    tree = await write_tree(git)
    earlier = read_json(workspace.home / COLLECTED) or {}
    if (earlier.get("tree"), earlier.get("parent")) == (tree, parent) and earlier.get("files"):
        return {"tree": tree, "parent": parent, "files": str(earlier["files"])}
    message = result_message(workspace.plan, workspace.task, workspace.epoch, workspace.title)
    commit = await git.run("commit-tree", tree, "-p", parent, "-F", "-", feed=message)
    return {"tree": tree, "parent": parent, "files": commit.text}


async def _commit_of_folder(workspace: Workspace, git: Git, name: str, folder: Path) -> str:
    tree = await tree_of_folder(git, folder, workspace.trusted / "worktree-index")
    message = f"{workspace.task}: Files of the further worktree {name}\n".encode("utf-8", "replace")
    return (await git.run("commit-tree", tree, "-p", workspace.start_commit, "-F", "-", feed=message)).text


async def _files_between(git: Git, base: str, commit: str) -> int:
    listed = await git.run("diff-tree", "-r", "--name-only", "--no-renames", "--no-commit-id", "-z", base, commit, "--")
    return len(listed.fields)
