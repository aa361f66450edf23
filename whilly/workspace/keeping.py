"""Keeps whatever an attempt left reachable in the user's repository, under one ref that can be printed."""

from collections.abc import Sequence
from itertools import count

from whilly.workspace.attempt import COLLECTED, Workspace, read_json, write_json
from whilly.workspace.gitcmd import Git
from whilly.workspace.message import kept_message
from whilly.workspace.refs import swap_ref, value_of
from whilly.workspace.transfer import bring_into_repository

_MOST_PARENTS = 300
"""As many as the shortest command line of a common system has room for."""


async def keep(workspace: Workspace, git: Git, kept: Sequence[tuple[str, str]], snapshot: dict[str, str]) -> str:
    """Bring the commits (each with what it is) into the user's repository; gives the ref, empty for nothing.

    One commit is kept as it is, several by a commit that has them as parents. Doing it again, also after a crash in
    the middle, ends in the same ref. `snapshot`: what else the record shall hold. Raises GitFailed, WorkspaceFailed,
    NoSpace.
    """
    earlier = read_json(workspace.home / COLLECTED) or {}
    names = [commit for commit, _ in kept]
    if earlier.get("names") == names:
        commit = str(earlier["commit"])
    else:
        commit = names[0] if len(names) == 1 else await _joined(workspace, git, kept) if names else ""
    ref, at = str(earlier.get("ref", "")), str(earlier.get("at", ""))
    record = {**snapshot, "names": names, "commit": commit, "ref": ref, "at": at, "safe": False}
    write_json(workspace.home / COLLECTED, record)
    if at and await value_of(workspace.users_git(), ref) != at:
        # Somebody removed or moved it since.
        ref = at = ""
    if commit and at != commit:
        if commit not in workspace.known:
            await bring_into_repository(workspace, git, [commit])
        ref = await _referred(workspace, commit, ref, at)
    write_json(workspace.home / COLLECTED, {**record, "ref": ref, "at": commit or at, "safe": True})
    return ref if commit else ""


async def is_kept(workspace: Workspace) -> bool:
    """Whether all that was collected is provably in the user's repository at this moment."""
    record = read_json(workspace.home / COLLECTED) or {}
    if not record.get("safe"):
        return False
    return not record["commit"] or await value_of(workspace.users_git(), record["ref"]) == str(record["commit"])


async def _joined(workspace: Workspace, git: Git, kept: Sequence[tuple[str, str]]) -> str:
    """A commit with all of them as parents, and with the files of the first."""
    while len(kept) > _MOST_PARENTS:
        rest = [kept[at : at + _MOST_PARENTS] for at in range(1, len(kept), _MOST_PARENTS)]
        kept = [kept[0], *[(await _joined(workspace, git, each), "joins what was left beside it") for each in rest]]
    parents = [word for commit, _ in kept for word in ("-p", commit)]
    message = kept_message(workspace.plan, workspace.task, workspace.epoch, kept)
    return (await git.run("commit-tree", f"{kept[0][0]}^{{tree}}", *parents, "-F", "-", feed=message)).text


async def _referred(workspace: Workspace, commit: str, ref: str, earlier: str) -> str:
    """Let a ref name the commit: this attempt's own from before, else the first that is free."""
    git = workspace.users_git()
    root = workspace.home.parent
    reason = f"whilly: attempt {workspace.epoch} of {workspace.task}"
    if ref and await swap_ref(git, root, ref, commit, earlier, reason):
        return ref
    for number in count(1):
        ref = workspace.kept_ref if number == 1 else f"{workspace.kept_ref}.{number}"
        if await swap_ref(git, root, ref, commit, "", reason) or await value_of(git, ref) == commit:
            return ref
    raise AssertionError("numbers do not end")
