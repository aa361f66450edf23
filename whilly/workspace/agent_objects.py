"""The objects that an agent's git has made, where trusted git can read them as data.

Linked one by one into a folder of our own, regular files only, so that no list of further folders, no link and no pipe
comes along. What is in them is proved when they go into the user's repository: git names every object anew by its
content there.
"""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from whilly.workspace.beneath import is_real_folder

_FAN = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"(pack-[0-9a-f]{40,64})\.idx")


def link_agent_objects(agents: Path, users: Path, target: Path) -> None:
    """Link what the agent's folder of objects has and the user's does not. `target` is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "pack").mkdir(parents=True)
    for name in _names(agents):
        if not (users / name).exists():
            _link(agents / name, target / name)


def _names(agents: Path) -> list[str]:
    found = []
    for fan in _listed(agents):
        if _FAN.fullmatch(fan):
            found += [f"{fan}/{name}" for name in _listed(agents / fan) if _LOOSE.fullmatch(name)]
    for name in _listed(agents / "pack"):
        if match := _PACK.fullmatch(name):
            found += [f"pack/{match[1]}.pack", f"pack/{match[1]}.idx"]
    return found


def _listed(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()] if is_real_folder(folder) else []
    except OSError:
        return []


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    with suppress(OSError):
        os.link(source, target, follow_symlinks=False)
        # The look comes after the link: what is ours cannot be exchanged any more.
        if target.is_symlink() or not target.is_file():
            target.unlink()
