"""Brings ignored things that a project needs (`.venv`, `node_modules`) from the user's folder, when asked."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from whilly.workspace.errors import WorkspaceFailed


class How(StrEnum):
    """A link is free, but what the agent installs lands in the user's folder. A copy costs time and disk."""

    LINK = "link"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Carried:
    """One ignored file or folder, named from the top of the repository with `/`."""

    name: str
    how: How = How.LINK


def bring(things: Sequence[Carried], top: Path | None, clone: Path) -> tuple[tuple[Carried, ...], tuple[str, ...]]:
    """Bring what exists. Gives what was brought, and sentences about what was not. Raises WorkspaceFailed."""
    brought, notes = [], []
    for thing in things:
        parts = PurePosixPath(thing.name).parts
        if not parts or PurePosixPath(thing.name).is_absolute() or ".." in parts or parts[0].lower() == ".git":
            raise WorkspaceFailed(f"{thing.name!r} cannot be carried in: name something inside of the repository.")
        if top is None or not (top / thing.name).exists():
            notes.append(f"{thing.name} is not in the user's folder and was not carried in.")
        elif os.path.lexists(clone / thing.name):
            notes.append(f"{thing.name} is part of the repository and was not carried in.")
        else:
            _bring(top.joinpath(*parts), clone.joinpath(*parts), thing.how)
            brought.append(thing)
    return tuple(brought), tuple(notes)


def exclude_patterns(things: Sequence[Carried]) -> bytes:
    """For `info/exclude`: a pattern like `.venv/` in a `.gitignore` does not cover a link of that name."""
    return b"".join(b"/" + os.fsencode(_escaped(thing.name)) + b"\n" for thing in things)


def _escaped(name: str) -> str:
    text = "".join(f"\\{c}" if c in "\\*?[" else c for c in str(PurePosixPath(name)))
    # A blank at the end of a pattern counts only behind a backslash.
    return f"{text[:-1]}\\ " if text.endswith(" ") else text


def _bring(source: Path, target: Path, how: How) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if how is How.LINK:
            target.symlink_to(source, target_is_directory=source.is_dir())
        elif source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
    except (OSError, shutil.Error) as error:
        raise WorkspaceFailed(f"{source} could not be carried in: {error}.") from error
