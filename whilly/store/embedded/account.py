"""The account of the server when root starts it: PostgreSQL refuses to run as root."""

import logging
import os
import pwd
import shutil
import stat
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

NAME = "whilly-postgres"
_WAYS_TO_ADD = (
    ("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", NAME),
    ("adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/sbin/nologin", NAME),
)

_ACL = "system.posix_acl_access"
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_SEARCH = 0x1


@dataclass(frozen=True)
class Account:
    """User and group of a process."""

    user: int
    group: int


def account_for(cluster: Path) -> Account | None:
    """Who runs the server: whoever owns its data, else an account without rights; None when we are not root."""
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    known = _look_up(NAME) or _add() or pwd.getpwnam("nobody")
    return Account(known.pw_uid, known.pw_gid)


def _look_up(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _add() -> pwd.struct_passwd | None:
    for command in _WAYS_TO_ADD:
        if program := shutil.which(command[0], path="/usr/sbin:/sbin:/usr/bin:/bin"):
            subprocess.run([program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            # Another process may have added it at the same moment, so the exit code says little.
            if known := _look_up(NAME):
                return known
    return None


def let_in(account: Account, folder: Path) -> None:
    """Let the account, and nobody else, pass through the folders above this one, such as /root."""
    for above in reversed(folder.resolve().parents):
        found = above.stat()
        if found.st_mode & stat.S_IXOTH or found.st_uid == account.user:
            continue
        try:
            os.setxattr(above, _ACL, _with_search(_acl_of(above, found.st_mode), account.user))
        except (OSError, AttributeError) as problem:
            log.warning("%s has no access lists (%s): everybody may pass through it from now on", above, problem)
            above.chmod(stat.S_IMODE(found.st_mode) | stat.S_IXOTH)


def let_read(folder: Path) -> None:
    """Let everybody read public files that were installed under a strict umask."""
    if folder.stat().st_mode & stat.S_IROTH:
        return
    # The folder itself comes last: when that can be read, everything can.
    for path in (*folder.rglob("*"), folder):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


def _acl_of(path: Path, mode: int) -> list[tuple[int, int, int]]:
    """The access list of a folder as (tag, permissions, id), see acl(5); made from its mode when it has none."""
    try:
        raw = os.getxattr(path, _ACL)
    except OSError:
        nobody = 0xFFFFFFFF
        return [(_USER_OBJ, mode >> 6 & 7, nobody), (_GROUP_OBJ, mode >> 3 & 7, nobody), (_OTHER, mode & 7, nobody)]
    return [(tag, permissions, who) for tag, permissions, who in struct.iter_unpack("<HHI", raw[4:])]


def _with_search(entries: list[tuple[int, int, int]], user: int) -> bytes:
    """The same list, with the right to pass for one more user."""
    nobody = 0xFFFFFFFF
    had = next((permissions for tag, permissions, who in entries if (tag, who) == (_USER, user)), 0)
    kept = [entry for entry in entries if entry[0] != _MASK and (entry[0], entry[2]) != (_USER, user)]
    kept.append((_USER, had | _SEARCH, user))
    mask = 0
    for tag, permissions, _ in kept:
        if tag in (_USER, _GROUP_OBJ, _GROUP):
            mask |= permissions
    kept.append((_MASK, mask, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in sorted(kept, key=_order))


def _order(entry: tuple[int, int, int]) -> tuple[int, int]:
    return entry[0], entry[2]
