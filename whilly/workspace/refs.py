"""Moves refs in the user's repository: compared and swapped, whoever else is at work there."""

import asyncio
import re
import time
from dataclasses import replace
from pathlib import Path

from whilly.workspace.errors import GitFailed, WorkspaceFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.locks import held, lock_of

PATIENCE_SECONDS = 20.0
"""So long another git's lock is waited for."""

_DEAD_AFTER_SECONDS = 2.0
"""A lock in Whilly's namespace that is older, while no Whilly process updates refs, was left by a killed git."""

_LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists")
_OTHER_VALUE = ("but expected", "reference already exists", "unable to resolve reference", "reference is missing")


async def swap_ref(git: Git, root: Path, ref: str, new: str, old: str, reason: str) -> bool:
    """Set the ref to a commit if it still has the old one (empty: if it does not exist); says whether it had.

    `root`: the folder of the workspaces, where Whilly's own lock is. Raises GitFailed, WorkspaceFailed.
    """
    nothing = "0" * len(new)
    deadline = time.monotonic() + PATIENCE_SECONDS
    wait = 0.01
    while True:
        try:
            # The child inherits the lock, so that it outlives neither Whilly nor the child that still writes.
            async with held(lock_of(root, git.head_file.parent, "refs")) as lock:
                await replace(git, inherit=(lock,)).run("update-ref", "-m", reason, ref, new, old or nothing)
        except GitFailed as error:
            if any(words in error.said for words in _OTHER_VALUE):
                return False
            match = _LOCKED.search(error.said)
            if match is None:
                raise
            if time.monotonic() > deadline:
                raise WorkspaceFailed(
                    f"{match[1]} exists: another git is at work there, or one that crashed left it; "
                    "remove the file if none is running."
                ) from error
            await _remove_if_dead(Path(match[1]), git, root)
            await asyncio.sleep(wait)
            wait = min(wait * 2, 0.5)
        else:
            return True


async def value_of(git: Git, ref: str) -> str:
    """The commit that the ref names; empty when there is no such ref."""
    answer = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, accept=(0, 1, 128))
    return answer.text if answer.code == 0 else ""


async def _remove_if_dead(file: Path, git: Git, root: Path) -> None:
    """Remove a lock of a ref of Whilly's own that a killed git left behind."""
    top = git.head_file.parent
    if not any(file.is_relative_to(top / part) for part in ("refs/whilly", "refs/heads/whilly")):
        return
    async with held(lock_of(root, top, "refs")):
        try:
            if time.time() - file.stat().st_mtime > _DEAD_AFTER_SECONDS:
                file.unlink()
        except FileNotFoundError:
            return
