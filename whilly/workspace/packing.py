"""One pack with all loose objects of a repository, made once and copied into every clone of it.

Between two clean-ups a repository may have thousands of loose objects. A file costs 0.1 to 0.2 ms to make, in every
clone and in every clean checkout; one pack with 1,500 of them costs 0.1 s once, and next to nothing to copy.
"""

import asyncio
import os
import time
from collections.abc import Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from whilly.workspace.errors import GitFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.gitdir import make_git_dir
from whilly.workspace.locks import held, lock_of
from whilly.workspace.removal import remove_tree

FOLDER = "packs"
"""In the folder of the workspaces."""

ENOUGH = 64
"""So many loose objects are worth a pack, or a new one."""

_IN_USE_SECONDS = 3600.0
"""An older pack that has been replaced is copied by nobody any more."""

_HEADER, _FAN_OUT = b"\xfftOc\0\0\0\x02", 256 * 4


@dataclass(frozen=True, slots=True)
class LoosePack:
    """Copies of loose objects."""

    files: tuple[Path, ...] = ()
    """In the order of copying."""
    names: Set[str] = frozenset()
    """Of the objects in it."""


async def pack_of_loose(common_dir: Path, object_format: str, root: Path) -> LoosePack:
    """The pack for a repository, made or renewed when that pays; an empty one otherwise."""
    loose = await asyncio.to_thread(_loose, common_dir / "objects")
    if len(loose) < ENOUGH:
        return LoosePack()
    folder = root / FOLDER / sha256(os.fsencode(common_dir.resolve())).hexdigest()[:24]
    async with held(lock_of(root, common_dir, "pack")):
        if not (folder / "HEAD").exists():
            await asyncio.to_thread(remove_tree, folder)
            make_git_dir(folder, object_format=object_format, head="refs/heads/none")
        pack = await asyncio.to_thread(_newest, folder)
        stale = len(pack.names - loose) * 2 > len(pack.names)
        if stale or len(loose - pack.names) >= ENOUGH:
            pack = await _made(common_dir, folder, loose)
        os.utime(folder)
        return pack


async def _made(common_dir: Path, folder: Path, loose: Set[str]) -> LoosePack:
    options = ("--stdout", "-q", "--window=0", "--compression=1", "--threads=1")
    feed = "".join(f"{name}\n" for name in sorted(loose)).encode()
    source, target = Git(directory=common_dir, cwd=folder), Git(directory=folder, cwd=folder)
    try:
        await source.pipe("pack-objects", *options, into=target, then=("index-pack", "--stdin"), feed=feed)
    except GitFailed:
        # One of them is damaged or has just gone; copied one by one, the sound ones still serve.
        return LoosePack()
    made = await asyncio.to_thread(_newest, folder)
    await asyncio.to_thread(_remove_replaced, folder, made)
    return made


def _loose(objects: Path) -> set[str]:
    found: set[str] = set()
    for fan in range(256):
        try:
            with os.scandir(objects / f"{fan:02x}") as entries:
                found.update(f"{fan:02x}{entry.name}" for entry in entries if len(entry.name) in (38, 62))
        except FileNotFoundError:
            continue
    return found


def _newest(folder: Path) -> LoosePack:
    indexes = sorted((folder / "objects/pack").glob("pack-*.idx"), key=lambda path: path.stat().st_mtime_ns)
    if not indexes or not (pack := indexes[-1].with_suffix(".pack")).exists():
        return LoosePack()
    return LoosePack((pack, indexes[-1]), _names(indexes[-1].read_bytes(), len(indexes[-1].stem) - len("pack-")))


def _names(index: bytes, digits: int) -> Set[str]:
    """The object names in a pack's index, version 2."""
    if not index.startswith(_HEADER):
        return frozenset()
    start, size = len(_HEADER) + _FAN_OUT, digits // 2
    count = int.from_bytes(index[start - 4 : start], "big")
    return {index[at : at + size].hex() for at in range(start, start + count * size, size)}


def _remove_replaced(folder: Path, newest: LoosePack) -> None:
    for path in (folder / "objects/pack").iterdir():
        if path not in newest.files and time.time() - path.stat().st_mtime > _IN_USE_SECONDS:
            path.unlink()
