"""The folder of a worker's own copy of a repository elsewhere: how it is made, and what must not be in it.

<folder>/
    address       where it comes from, for people
    current       the number of the git directory in use
    1/  2/ …      git directories; a damaged one is left alone and replaced by the next
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from whilly.workspace.removal import remove_tree

_ORDERS = (
    "commondir",
    "gitdir",
    "shallow",
    "config.worktree",
    "info/grafts",
    "info/attributes",
    "objects/info/alternates",
    "objects/info/http-alternates",
)
"""Files that a copy made by Whilly does not have, and that would change what git reads or does."""

_DEAD_LOCK_SECONDS = 2.0
_DEAD_PACK_SECONDS = 86_400.0
REPLACED_SECONDS = 7 * 86_400.0
"""So long a replaced copy stays: what attempts left may be nowhere else."""

UNUSED_SECONDS = 60 * 86_400.0


def current(folder: Path) -> Path:
    """The git directory in use; it need not be there yet."""
    try:
        number = int((folder / "current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        number = 1
    return folder / str(max(number, 1))


def make(folder: Path, address: str, object_format: str = "sha1") -> Path:
    """Make a git directory without objects beside those that are there, and put it in use."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory = current(folder)
    while os.path.lexists(directory):
        directory = directory.with_name(str(int(directory.name) + 1))
    for part in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (directory / part).mkdir(parents=True)
    put(directory / "config", _config(object_format))
    put(directory / "HEAD", "ref: refs/heads/none\n")
    put(folder / "address", f"{address}\n")
    put(folder / "current", f"{directory.name}\n")
    for old in folder.iterdir():
        if old.name.isdecimal() and old != directory and time.time() - old.stat().st_mtime > REPLACED_SECONDS:
            remove_tree(old)
    return directory


def used(folder: Path) -> None:
    """Note that somebody works with it."""
    os.utime(folder)


def remove_unused(root: Path) -> None:
    """Remove the copies that nobody has worked with for long. Their repositories can be fetched again."""
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                remove_tree(folder)


def is_whole(directory: Path) -> bool:
    """Whether it has the shape that `make` gives, and nothing that git would take for an order."""
    folders = all(_is_real_folder(directory / part) for part in ("", "objects", "objects/pack", "refs"))
    head = directory / "HEAD"
    return (
        folders
        and head.is_file()
        and not head.is_symlink()
        and not any(os.path.lexists(directory / name) for name in _ORDERS)
    )


def write_configuration(directory: Path) -> None:
    """Put the configuration back as `make` wrote it, whatever is there now."""
    known = [_config(object_format) for object_format in ("sha1", "sha256")]
    with suppress(OSError, UnicodeDecodeError):
        if not (directory / "config").is_symlink() and (directory / "config").read_text(encoding="utf-8") in known:
            return
    put(directory / "config", known[_has_long_names(directory)])


def remove_dead(directory: Path) -> None:
    """Remove what killed gits left. For whoever holds all locks under which git writes here."""
    locks = [*directory.glob("*.lock"), *(directory / "refs").rglob("*.lock")]
    for files, age in ((locks, _DEAD_LOCK_SECONDS), (directory.glob("objects/pack/tmp_*"), _DEAD_PACK_SECONDS)):
        for file in files:
            with suppress(OSError):
                if time.time() - file.lstat().st_mtime > age:
                    file.unlink()


def put(path: Path, text: str) -> None:
    """Write a file so that readers see the old content or the new."""
    new = path.with_name(f".{path.name}-{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _has_long_names(directory: Path) -> bool:
    return any(len(index.stem) > len("pack-") + 40 for index in (directory / "objects/pack").glob("pack-*.idx"))


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _config(object_format: str) -> str:
    version, extension = (
        (0, "") if object_format == "sha1" else (1, f"[extensions]\n\tobjectformat = {object_format}\n")
    )
    return f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\tlogallrefupdates = false\n{extension}"
