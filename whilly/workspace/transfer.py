"""Brings commits into the user's repository, every object checked at the border."""

from collections.abc import Iterable
from dataclasses import replace

from whilly.workspace.attempt import Workspace
from whilly.workspace.gitcmd import Git

FEW = 100
"""Below so many objects each becomes a file of its own, as after a `git push`. A pack for every result would slow down
each clone and each command in the repository: after 500 results, a clone of a small one takes 0.3 s instead of 0.05."""

_DURABLE = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsync",
    "GIT_CONFIG_VALUE_0": "committed",
    "GIT_CONFIG_KEY_1": "core.fsyncMethod",
    "GIT_CONFIG_VALUE_1": "batch",
}
"""By default git leaves it to chance whether objects that are no pack survive a power failure."""


async def bring_into_repository(workspace: Workspace, git: Git, commits: Iterable[str]) -> None:
    """Put commits, and all that they need and the user's repository lacks, into it.

    The receiving git computes every object's name anew, and refuses malformed ones and such that point to nothing.
    After a crash some objects may be there that nothing refers to; the commits are named only when all of them are.
    Raises GitFailed, NoSpace.
    """
    wanted = "".join(f"{commit}\n" for commit in commits) + "".join(f"^{commit}\n" for commit in workspace.known)
    listed = await git.run("rev-list", "--objects", "--no-object-names", "--stdin", feed=wanted.encode())
    few = listed.out.count(b"\n") < FEW
    users = workspace.users_git()
    await git.pipe(
        "pack-objects",
        "--revs",
        "--thin",
        "--delta-base-offset",
        "--stdout",
        "-q",
        into=replace(users, environment={**users.environment, **_DURABLE}) if few else users,
        then=("unpack-objects", "-q", "--strict") if few else ("index-pack", "--stdin", "--fix-thin", "--strict"),
        feed=wanted.encode(),
    )
