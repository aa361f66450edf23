"""Tells whether the process that works in a folder still lives: by its number and the moment it started."""

import socket
from itertools import count
from pathlib import Path

import psutil

from whilly.workspace.attempt import OWNER, read_json, write_json
from whilly.workspace.errors import WorkspaceFailed

_SAME_SECONDS = 1.0
"""Two readings of one process's start differ by less."""


def new_home(root: Path, plan: str, task: str, epoch: int) -> Path:
    """Make the folder of an attempt, and write down that this process works there. Raises WorkspaceFailed."""
    name, own = f"{plan}@{task}@e{epoch}", psutil.Process()
    owner = {"pid": own.pid, "started": own.create_time(), "host": socket.gethostname()}
    for home in (root / (name if number == 1 else f"{name}.{number}") for number in count(1)):
        try:
            home.mkdir(parents=True, mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise WorkspaceFailed(f"{home} could not be made: {error.strerror}.") from error
        write_json(home / OWNER, owner)
        return home
    raise AssertionError("numbers do not end")


def owner_lives(home: Path) -> bool:
    """Whether the folder may still be in use. A folder of another machine always may."""
    owner = read_json(home / OWNER)
    if owner is None:
        return False
    if owner.get("host") != socket.gethostname():
        return True
    try:
        started = psutil.Process(int(owner["pid"])).create_time()
        return abs(started - float(owner["started"])) < _SAME_SECONDS
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, KeyError, TypeError, ValueError):
        return False
