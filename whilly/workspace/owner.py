"""Files that Whilly writes into a repository belong to whom the repository belongs, also when Whilly runs as root."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A user and a group, by number."""

    user: int
    group: int


def owner_to_act_as(path: Path) -> Owner | None:
    """The owner of a folder when Whilly is root and somebody else's folder is to be written; else None."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    seen = path.stat()
    return Owner(seen.st_uid, seen.st_gid) if seen.st_uid != 0 else None
