"""Removes workspaces, and only when all the work in them is provably in the user's repository."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from whilly.core.errors import WhillyError
from whilly.workspace.attempt import OWNER, Workspace, load
from whilly.workspace.keeping import is_kept
from whilly.workspace.liveness import owner_lives
from whilly.workspace.locks import held_at_once
from whilly.workspace.packing import FOLDER
from whilly.workspace.removal import DOOMED, remove_tree
from whilly.workspace.result import Collected, collect

_LOCKS = "locks"

_NEWBORN_SECONDS = 60.0
"""A folder without an owner that is younger may have one in a moment."""

_UNUSED_SECONDS = 7 * 86400.0
"""So long the pack for a repository is kept that nobody works on."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What an attempt left whose worker died."""

    plan: str
    task: str
    epoch: int
    collected: Collected


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did."""

    removed: tuple[Path, ...] = ()
    salvaged: tuple[Salvaged, ...] = ()
    left: tuple[tuple[Path, str], ...] = ()
    """Folders that stay, each with the reason."""


async def discard(workspace: Workspace) -> bool:
    """Remove the workspace; says whether it is gone.

    It stays when its work is not provably in the user's repository. What was never collected is collected first.
    Raises WorkspaceFailed, NoSpace when that fails.
    """
    if not workspace.in_place and not await is_kept(workspace):
        await collect(workspace)
        if not await is_kept(workspace):
            return False
    return await asyncio.to_thread(remove_tree, workspace.home)


async def sweep(root: Path) -> Swept:
    """Remove what dead workers left, their work first brought into the user's repositories. For the start of a worker.

    Does nothing when another process is sweeping. Never raises for one folder what concerns only that.
    """
    if not root.is_dir():
        return Swept()
    removed: list[Path] = []
    salvaged: list[Salvaged] = []
    left: list[tuple[Path, str]] = []
    with held_at_once(root / _LOCKS / "sweep") as ours:
        for home in sorted(root.iterdir()) if ours else ():
            if not home.is_dir() or home.is_symlink() or home.name in (_LOCKS, FOLDER) or _in_use(home):
                continue
            try:
                if saved := await _save(home):
                    salvaged.append(saved)
            except (WhillyError, OSError) as error:
                left.append((home, str(error)))
                continue
            if await asyncio.to_thread(remove_tree, home):
                removed.append(home)
            else:
                left.append((home, "Not all of it could be removed."))
        if ours:
            await asyncio.to_thread(_remove_unused_packs, root / FOLDER)
    return Swept(tuple(removed), tuple(salvaged), tuple(left))


def _in_use(home: Path) -> bool:
    if home.name.startswith(DOOMED):
        return False
    if (home / OWNER).exists():
        return owner_lives(home)
    with suppress(OSError):
        return time.time() - home.stat().st_mtime < _NEWBORN_SECONDS
    return True


def _remove_unused_packs(packs: Path) -> None:
    for folder in packs.iterdir() if packs.is_dir() else ():
        if time.time() - folder.stat().st_mtime > _UNUSED_SECONDS:
            remove_tree(folder)


async def _save(home: Path) -> Salvaged | None:
    """Bring the work in the folder into the user's repository. Raises when that is not proved afterwards."""
    workspace = None if home.name.startswith(DOOMED) else load(home)
    if workspace is None or workspace.in_place or await is_kept(workspace):
        return None
    collected = await collect(workspace)
    if not await is_kept(workspace):
        raise WhillyError(collected.violated or "Its work could not be kept.")
    return Salvaged(workspace.plan, workspace.task, workspace.epoch, collected) if collected.kept_ref else None
