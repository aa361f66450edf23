"""Looks through the files of a work tree for what git must not meet there.

A folder with a `.git` of its own would be recorded as a submodule instead of its files, and git may start a second git
in it, under the configuration found there. A pipe named `.gitignore` would make git wait for ever.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from whilly.workspace.beneath import is_real_folder, read_beneath
from whilly.workspace.gitcmd import Git

_GITLINK = b"\0\0\xe0\0"
"""Mode 160000 as an index has it. Elsewhere in an index these bytes are rare, and then only cost a look."""

_LINKED = re.compile(rb"gitdir: .*[/\\]\.git[/\\]worktrees[/\\][^/\\]+\s*")


@dataclass(frozen=True, slots=True)
class Oddities:
    """What was found, as paths from the top."""

    repositories: tuple[str, ...] = ()
    """Folders with a `.git` of their own."""
    worktrees: tuple[str, ...] = ()
    """Folders that are further worktrees of the agent's own clone."""
    special: tuple[str, ...] = ()
    """Pipes, sockets and devices."""


def look_through(top: Path, gitlinks: Collection[str]) -> Oddities:
    """Walk the work tree, links not followed. Folders that nobody may read are made readable for their owner."""
    repositories: list[str] = []
    worktrees: list[str] = []
    special: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        for entry in _entries(top, here):
            name = f"{here}/{entry.name}" if here else entry.name
            if entry.name == ".git":
                if here:
                    linked = _LINKED.fullmatch(read_beneath(top, name, 4096) or b"")
                    (worktrees if linked else repositories).append(here)
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                continue
            elif not entry.is_dir(follow_symlinks=False):
                special.append(name)
            elif name not in gitlinks:
                waiting.append(name)
    inside = tuple(f"{each}/" for each in worktrees)
    return Oddities(
        tuple(each for each in repositories if not each.startswith(inside)) if inside else tuple(repositories),
        tuple(worktrees),
        tuple(special),
    )


def linked_worktrees_beside(home: Path, known: Collection[str]) -> Iterator[Path]:
    """Further worktrees that the agent made next to its clone, as `git worktree add ../x` does."""
    with os.scandir(home) as entries:
        for entry in entries:
            path = Path(entry.path)
            if entry.name in known or not is_real_folder(path):
                continue
            if _LINKED.fullmatch(read_beneath(path, ".git", 4096) or b""):
                yield path


def set_aside(top: Path, names: Collection[str], aside: Path) -> None:
    """Take things out of the work tree without losing them."""
    for name in names:
        aside.mkdir(exist_ok=True)
        taken = {entry.name for entry in os.scandir(aside)}
        number = next(n for n in range(len(taken) + 1) if str(n) not in taken)
        with suppress(FileNotFoundError):
            (top / name).rename(aside / str(number))


def make_readable(top: Path) -> None:
    """Let the owner read every file: git cannot keep what it cannot read."""
    waiting = [""]
    while waiting:
        here = waiting.pop()
        for entry in _entries(top, here):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{here}/{entry.name}" if here else entry.name)
            elif entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if not mode & stat.S_IRUSR:
                        os.chmod(entry.path, stat.S_IMODE(mode) | stat.S_IRUSR)  # noqa: PTH101


async def gitlinks_of(git: Git) -> tuple[str, ...]:
    """Submodules in the index."""
    if git.index is None or not git.index.exists() or _GITLINK not in git.index.read_bytes():
        return ()
    listed = await git.run("ls-files", "--stage", "-z")
    return tuple(entry.split("\t", 1)[1] for entry in listed.fields if entry.startswith("160000 "))


def _entries(top: Path, here: str) -> list[os.DirEntry[str]]:
    folder = top / here
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        try:
            folder.chmod(stat.S_IRWXU)
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError:
            return []
    except OSError:
        return []
