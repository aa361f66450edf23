"""Removes folders that an agent or a check may have made hard to remove."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

DOOMED = ".doomed-"
"""Names that begin so hold nothing that is still wanted."""


def remove_tree(path: Path) -> bool:
    """Remove a folder, read-only parts included; links are removed and not followed. Says whether all of it is gone."""
    # What resists keeps its name, or that would grow with each try.
    doomed = path if path.name.startswith(DOOMED) else path.with_name(f"{DOOMED}{os.getpid()}-{path.name}")
    try:
        # Under another name the old one is free at once, and a crash in the middle leaves no half workspace.
        path.rename(doomed)
    except FileNotFoundError:
        return not os.path.lexists(path)
    except OSError:
        doomed = path
    try:
        if sys.version_info >= (3, 12):
            shutil.rmtree(doomed, onexc=_make_writable)
        else:
            shutil.rmtree(doomed, onerror=_make_writable)
    except (OSError, RecursionError):
        _remove_stubborn(doomed)
    return not os.path.lexists(doomed)


def _make_writable(function: Callable[..., Any], name: str, _error: object) -> None:
    """Give back the rights that are missing, then do again what was refused."""
    for each in (Path(name).parent, Path(name)):
        with suppress(OSError):
            if not stat.S_ISLNK(each.lstat().st_mode):
                each.chmod(stat.S_IRWXU)
    if function in (os.open, os.scandir, os.lstat):
        shutil.rmtree(name, ignore_errors=True)
    else:
        with suppress(OSError):
            function(name)


def _remove_stubborn(path: Path) -> None:
    """Folders nested deeper than Python's recursion goes."""
    program = shutil.which("rm")
    if program is not None:
        subprocess.run([program, "-rf", "--", path], check=False, capture_output=True)
