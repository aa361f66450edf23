"""Brings commits into the user's repository, every object checked at the border."""

from collections.abc import Iterable

from whilly.workspace.attempt import Workspace
from whilly.workspace.gitcmd import Git


async def bring_into_repository(workspace: Workspace, git: Git, commits: Iterable[str]) -> None:
    """Put commits, and all that they need and the user's repository lacks, into it as one pack.

    The receiving git computes every object's name anew, refuses malformed ones and such that point to nothing, and
    makes the pack visible in one step: a crash leaves either all of it or nothing. Raises GitFailed, NoSpace.
    """
    wanted = "".join(f"{commit}\n" for commit in commits) + "".join(f"^{commit}\n" for commit in workspace.known)
    await git.pipe(
        "pack-objects",
        "--revs",
        "--thin",
        "--delta-base-offset",
        "--stdout",
        "-q",
        into=workspace.users_git(),
        then=("index-pack", "--stdin", "--fix-thin", "--strict"),
        feed=wanted.encode(),
    )
