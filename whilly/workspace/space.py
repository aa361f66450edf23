"""Refuses to begin what the disk would not let end."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from whilly.workspace.errors import NoSpace


@dataclass(frozen=True, slots=True)
class Floor:
    """What must stay free on the disk that holds the workspaces."""

    bytes: int = 512 * 2**20
    files: int = 2_000


def require_space(folder: Path, floor: Floor, needed: int = 0) -> None:
    """Raise NoSpace, with figures, unless so many bytes can be written and the floor is still free afterwards."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(existing).free
    if free < floor.bytes + needed:
        purpose = f"the clone takes {_size(needed)} and " if needed else ""
        raise NoSpace(f"The disk of {existing} has {_size(free)} free; {purpose}{_size(floor.bytes)} must stay free.")
    if sys.platform != "win32":
        seen = os.statvfs(existing)
        # Some file systems make inodes as they go and report none.
        if seen.f_files and seen.f_favail < floor.files:
            raise NoSpace(
                f"The disk of {existing} has room for {seen.f_favail} more files; for {floor.files} it must stay."
            )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
