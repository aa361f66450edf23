"""Results as git bundles: for a repository that takes no push, and for whoever wants one from the control plane."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from whilly.workspace.attempt import Workspace
from whilly.workspace.errors import GitFailed, WorkspaceFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.mirror import BRANCHES
from whilly.workspace.refs import swap_ref, value_of
from whilly.workspace.source import COMMIT_ID

_SIGNATURE = re.compile(rb"# v([23]) git bundle\n")
_LONGEST_HEADER = 1_000_000


@dataclass(frozen=True, slots=True)
class Header:
    """What a bundle says about itself."""

    needs: tuple[str, ...]
    """Commits that whoever takes it must have."""
    tips: tuple[str, ...]
    """Commits that it brings."""
    pack_at: int
    """Where the objects begin, in bytes."""


@asynccontextmanager
async def bundle_of(workspace: Workspace, commit: str) -> AsyncIterator[Path]:
    """A file with the commit and all that the original repository lacks, while open. Raises GitFailed, NoSpace."""
    git = workspace.users_git()
    ref = f"refs/bundled/{workspace.plan}/{workspace.task}/e{workspace.epoch}"
    await git.run("update-ref", ref, commit)
    path = workspace.home / "result.bundle"
    try:
        await git.run("bundle", "create", "--quiet", str(path), ref, "--not", f"--glob={BRANCHES}/*")
        yield path
    finally:
        path.unlink(missing_ok=True)
        await git.run("update-ref", "-d", ref)


def read_header(data: bytes) -> Header:
    """The beginning of a bundle. Raises WorkspaceFailed when it is none."""
    begins = _SIGNATURE.match(data)
    end = data.find(b"\n\n", 0, _LONGEST_HEADER)
    if begins is None or end < 0:
        raise WorkspaceFailed("What came as a result is no git bundle.")
    needs: list[str] = []
    tips: list[str] = []
    for line in data[begins.end() : end].split(b"\n"):
        if line.startswith(b"@"):
            continue
        name = line.removeprefix(b"-").split(b" ", 1)[0].decode("ascii", "replace")
        if not COMMIT_ID.fullmatch(name):
            raise WorkspaceFailed("What came as a result is a damaged git bundle.")
        (needs if line.startswith(b"-") else tips).append(name)
    return Header(tuple(needs), tuple(tips), end + 2)


async def take_bundle(git: Git, data: bytes, commit: str, place: str) -> None:
    """Bring a bundle's commit into a repository, every object checked; nothing refers to it yet.

    `place`: the repository, for people. Raises WorkspaceFailed when it is another commit's, damaged, or builds on
    commits that the repository does not have.
    """
    header = read_header(data)
    if commit not in header.tips:
        raise WorkspaceFailed(f"The bundle does not bring commit {commit}.")
    for needed in header.needs:
        if await value_of(git, f"{needed}^{{commit}}") != needed:
            raise WorkspaceFailed(f"{place} lacks commit {needed}, which the result builds on; fetch into it first.")
    options = ("--stdin", "--fix-thin", "--strict")
    try:
        await git.run("index-pack", *options, feed=data[header.pack_at :])
        # Not only the objects themselves: that everything is there that they point to.
        await git.run("rev-list", "--objects", "--quiet", commit, "--not", "--all")
    except GitFailed as failure:
        raise WorkspaceFailed(f"The bundle with commit {commit} is damaged: {failure}") from failure


async def refer(git: Git, locks: Path, ref: str, commit: str) -> None:
    """Let a ref of Whilly's own name a commit that has just come. Raises GitFailed, WorkspaceFailed."""
    old = await value_of(git, ref)
    if old != commit and not await swap_ref(git, locks, ref, commit, old, "whilly: a result from elsewhere"):
        raise WorkspaceFailed(f"{ref} changes all the time.")
