"""Turns files into a tree of the trusted repository. Nothing that an agent configured has a say in it."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from whilly.workspace.errors import NoSpace
from whilly.workspace.gitcmd import Finished, Git, disk_is_full
from whilly.workspace.tree import make_readable

_AS_THEY_ARE = "* !text !eol !working-tree-encoding !ident !filter\n"


async def add_all(git: Git, leave_out: Sequence[str]) -> str:
    """Record all files in the index, except ignored ones and the paths to leave out.

    Gives what git said about files that could not be recorded; empty when all could. Raises GitFailed, NoSpace.
    """
    paths = [":(top)", *(f":(top,exclude,literal){name}" for name in leave_out)]
    feed = b"".join(os.fsencode(path) + b"\0" for path in paths)
    added = await _add(git, feed, (0, 1, 128))
    if added.code and git.work_tree is not None:
        await asyncio.to_thread(make_readable, git.work_tree)
        added = await _add(git, feed, (0, 1, 128))
    if added.code:
        # A file that contradicts its own `.gitattributes` stops git; as it is, it can always be recorded.
        attributes = git.head_file.with_name("info") / "attributes"
        attributes.write_text(_AS_THEY_ARE, encoding="ascii")
        added = await _add(git, feed, (0, 1))
    return added.err.strip() if added.code else ""


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


async def _add(git: Git, feed: bytes, accept: Sequence[int]) -> Finished:
    options = ("--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
    added = await git.run("add", *options, feed=feed, accept=accept)
    if added.code and disk_is_full(added.err, git.work_tree):
        raise NoSpace(f"The disk is full: what is in {git.work_tree} could not be recorded.")
    return added
