"""Pushes a result to the repository that it belongs to: compared and swapped, never over somebody else's work."""

from collections.abc import Callable

from whilly.workspace.attempt import Workspace
from whilly.workspace.errors import RemoteFailed, Trouble
from whilly.workspace.gitcmd import AUTHOR, Git
from whilly.workspace.merge import is_ancestor
from whilly.workspace.mirror import BRANCHES, RESULTS
from whilly.workspace.refs import value_of
from whilly.workspace.remote import Pushed, Remote

_TRIES = 5
_MOST_COMMITS = 20_000


async def push_result(
    workspace: Workspace, commit: str, remote: Remote, *, still_ours: Callable[[], bool] = lambda: True
) -> str:
    """Set `whilly/<plan>/<task>` there to the commit; gives its name. Doing it again gives the same.

    `still_ours` is asked after the last look and before the push, so that a worker that was held up in between either
    sees that its lease is over, or meets a branch that is no longer the one it saw. Raises RemoteFailed.
    """
    git = workspace.users_git()
    for _ in range(_TRIES):
        there = await remote.commit_of(git, workspace.ref)
        if there == commit:
            return workspace.branch
        if there and (obstacle := await _obstacle(workspace, git, remote, there, commit)):
            raise RemoteFailed(obstacle, Trouble.TAKEN)
        if not still_ours():
            raise RemoteFailed("The lease ran out before the result could be pushed.", Trouble.UNREACHABLE)
        if await remote.push(git, commit, workspace.ref, there) is Pushed.DONE:
            return workspace.branch
    raise RemoteFailed(f"Branch {workspace.branch} of {remote.address.url} changes all the time.", Trouble.TAKEN)


async def _obstacle(workspace: Workspace, git: Git, remote: Remote, there: str, commit: str) -> str:
    """Why the branch must not be moved, as a sentence; empty when it may."""
    seen = f"{RESULTS}/{workspace.plan}/{workspace.task}"
    if await value_of(git, f"{there}^{{commit}}") != there:
        await remote.fetch(git, [f"+{workspace.ref}:{seen}"])
        if await value_of(git, seen) != there:
            return ""  # It has just moved: the swap will fail, and the next look sees the new one.
    if await is_ancestor(git, there, commit):
        return ""
    form = "--format=%ce%x00%ct%x00%(trailers:key=Whilly-Attempt,valueonly,separator=%x2c)"
    listed = await git.run("log", form, f"--max-count={_MOST_COMMITS}", there, "--not", commit, f"--glob={BRANCHES}/*")
    where = f"Branch {workspace.branch} of {remote.address.url}"
    for line in listed.text.splitlines():
        email, date, epoch = line.split("\0")
        if email != AUTHOR[1]:
            return f"{where} has commits that are not Whilly's and was left as it is."
        if epoch.isdecimal() and int(epoch) > workspace.epoch and int(date) >= int(workspace.created):
            return f"{where} has the result of attempt {epoch}, which is newer than attempt {workspace.epoch}."
    return ""
