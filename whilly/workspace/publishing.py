"""Puts a result where people look for it, and stays away from what is theirs."""

from collections.abc import Callable
from dataclasses import dataclass

from whilly.workspace.attempt import Workspace
from whilly.workspace.errors import GitFailed, WorkspaceFailed
from whilly.workspace.merge import is_ancestor
from whilly.workspace.refs import swap_ref

Say = Callable[[str], None]
"""Takes one sentence for people."""

_TRIES = 5


def silent(_sentence: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The refs of one task in the user's repository."""

    branch: str
    """The commit that the task's branch has; empty: there is no such branch."""
    checked_out_in: str
    kept: frozenset[str]
    """Commits that attempts of this task left."""
    newer: int
    """The epoch of a later attempt that has already left something; 0: there is none."""


async def publish_branch(workspace: Workspace, head: str, kept_ref: str, say: Say) -> str:
    """Move `whilly/<plan>/<task>`; gives its name, or `kept_ref` when it has to stay as it is."""
    for _ in range(_TRIES):
        seen = await _look(workspace)
        if seen.branch == head:
            return workspace.branch
        if obstacle := await _obstacle(workspace, seen, head):
            say(f"{obstacle} The result is {kept_ref}.")
            return kept_ref
        reason = f"whilly: attempt {workspace.epoch} of {workspace.task}"
        try:
            git = workspace.users_git()
            if await swap_ref(git, workspace.home.parent, workspace.ref, head, seen.branch, reason):
                return workspace.branch
        except GitFailed as error:
            if "cannot create" not in error.said and "there are still refs under" not in error.said:
                raise
            say(f"Branch {workspace.branch} cannot be made beside a branch of yours: {error} The result is {kept_ref}.")
            return kept_ref
    raise WorkspaceFailed(f"Branch {workspace.branch} changes all the time; the result is {kept_ref}.")


async def _look(workspace: Workspace) -> _Seen:
    branch = checked_out_in = ""
    kept, newer = set[str](), 0
    space = f"refs/whilly/{workspace.plan}/{workspace.task}/"
    form = "%(refname)%00%(objectname)%00%(committerdate:unix)%00%(worktreepath)"
    listed = await workspace.users_git().run("for-each-ref", f"--format={form}", workspace.ref, space)
    for line in listed.text.splitlines():
        name, commit, date, worktree = line.split("\0")
        if name == workspace.ref:
            branch, checked_out_in = commit, worktree
            continue
        kept.add(commit)
        epoch = name.removeprefix(f"{space}e").partition(".")[0]
        # Epochs of an earlier life of the plan are older than this workspace, however high they are.
        if epoch.isdecimal() and int(epoch) > workspace.epoch and int(date or 0) >= int(workspace.created):
            newer = max(newer, int(epoch))
    return _Seen(branch, checked_out_in, frozenset(kept), newer)


async def _obstacle(workspace: Workspace, seen: _Seen, head: str) -> str:
    """Why the branch must not be moved, as a sentence; empty when it may."""
    if seen.newer:
        return f"Attempt {seen.newer} of {workspace.task} is newer than attempt {workspace.epoch}."
    if seen.checked_out_in:
        return f"Branch {workspace.branch} is checked out in {seen.checked_out_in} and was left as it is."
    if not seen.branch:
        own = (workspace.repository / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        return f"Branch {workspace.branch} is the one you are about to begin." if own == f"ref: {workspace.ref}" else ""
    git = workspace.users_git()
    if await is_ancestor(git, seen.branch, head):
        return ""
    for commit in seen.kept:
        if await is_ancestor(git, seen.branch, commit):
            return ""
    return f"Branch {workspace.branch} has commits that are not Whilly's and was left as it is."
