"""Turns files into a tree of the trusted repository. Nothing that an agent configured has a say in it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from whilly.workspace.errors import NoSpace
from whilly.workspace.gitcmd import Git
from whilly.workspace.tree import make_readable

_AS_THEY_ARE = "* !text !eol !working-tree-encoding !ident !filter\n"


async def add_all(git: Git, leave_out: Sequence[str]) -> str:
    """Record all files in the index, except ignored ones and the paths to leave out.

    Gives what git said about files that could not be recorded; empty when all could.
    """
    paths = [":(top)", *(f":(top,exclude,literal){name}" for name in leave_out)]
    feed = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    said = await _add(git, feed)
    if said and git.work_tree is not None:
        await asyncio.to_thread(make_readable, git.work_tree)
        said = await _add(git, feed)
    if said and git.directory is not None:
        # A file that contradicts its own `.gitattributes` stops git; as it is, it can always be recorded.
        (git.directory / "info" / "attributes").write_text(_AS_THEY_ARE, encoding="ascii")
        said = await _add(git, feed)
    return said


async def write_tree(git: Git) -> str:
    """The tree of the index."""
    return (await git.run("write-tree")).text


async def tree_of_folder(git: Git, folder: Path, index: Path) -> str:
    """The tree of another folder, without regard to what was recorded before."""
    apart = Git(directory=git.directory, work_tree=folder, index=index, borrowed=git.borrowed)
    await add_all(apart, ())
    return await write_tree(apart)


async def differing(git: Git, commit: str) -> list[str]:
    """Paths in which the index differs from a commit, be it by a blank or by a mode."""
    return (await git.run("diff-index", "--cached", "--name-only", "--no-renames", "-z", commit, "--")).fields


async def _add(git: Git, feed: bytes) -> str:
    options = ("--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
    answer = await git.run("add", *options, feed=feed, accept=range(256))
    if answer.code and "No space left on device" in answer.err:
        raise NoSpace(f"The disk is full: what is in {git.work_tree} could not be recorded.")
    return answer.err.strip() if answer.code else ""
