"""Which texts can name a plan or a task, so that `whilly/<plan>/<task>` is a git branch on every file system."""

import re
import unicodedata

LONGEST = 64
"""Characters; all of them are ASCII, so also bytes."""

PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Necessary, not sufficient: git also refuses `..`, and a `.` or `.lock` at the end."""

_SHAPE = re.compile(PATTERN)
_BUNDLED = "bundle:"
_FOREIGN = re.compile(r"[^A-Za-z0-9._-]")


def check_id(text: str) -> str | None:
    """None when the text can be an id, else what is wrong with it: the end of a sentence that begins with the id."""
    if _SHAPE.fullmatch(text) and ".." not in text:
        if text.endswith("."):
            return 'ends with "."'
        return 'ends with ".lock"' if text.lower().endswith(".lock") else None
    if not text:
        return "is empty"
    if len(text) > LONGEST:
        return f"has {len(text)} characters, more than {LONGEST}"
    if text != text.strip():
        return "begins or ends with blank space"
    if foreign := _FOREIGN.search(text):
        return f"contains {_named(foreign.group())}"
    if ".." in text:
        return 'contains ".."'
    return f'begins with "{text[0]}" instead of a letter or a digit'


def id_from(text: str) -> str | None:
    """The id that a title suggests: `Toy parser` gives `Toy-parser`, `Café` gives `Cafe`.

    None when letters would be lost (two Japanese titles must not become the same id) or nothing fit remains.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    if any(c.isalnum() and not c.isascii() for c in plain):
        return None
    candidate = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._]+", "-", plain)).strip("-._")
    return candidate if check_id(candidate) is None else None


def branch_of(plan: str, task: str) -> str:
    """The branch that holds the task's result in the user's repository."""
    return f"whilly/{plan}/{task}"


def bundled(branch: str) -> str:
    """Where a result is said to be that the control plane keeps as a bundle, in place of a branch."""
    return f"{_BUNDLED}{branch}"


def is_bundled(place: str) -> bool:
    """Whether a result is kept by the control plane as a bundle."""
    return place.startswith(_BUNDLED)


def _named(character: str) -> str:
    if character == " ":
        return "a space"
    if character.isprintable():
        return f'"{character}"' if character.isascii() else f'"{character}" (U+{ord(character):04X})'
    return f"U+{ord(character):04X}"
