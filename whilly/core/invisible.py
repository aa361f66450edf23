"""Characters that people do not see and programs read: a way to hide instructions in a text."""

import re
import unicodedata
from collections.abc import Iterator

_CANDIDATE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_STYLES = "\ufe0e\ufe0f"
_MARKS = "\u061c\u200e\u200f"


def made_visible(text: str) -> str:
    """The text with each hidden character spelled out: `[U+200B]`. What a script needs to be read stays as it is."""
    if text.isascii():
        return text
    right_to_left = _has_right_to_left(text)
    return _CANDIDATE.sub(
        lambda found: found[0] if _has_purpose(found, right_to_left) else f"[U+{ord(found[0]):04X}]", text
    )


def hidden_characters(text: str) -> Iterator[str]:
    """Each hidden character, in order. Joiners in emoji and scripts that need them are not hidden: they do something.

    A byte order mark at the beginning and soft hyphens, which word processors leave behind, are not suspicious either.
    """
    if text.isascii():
        return
    right_to_left = _has_right_to_left(text)
    for found in _CANDIDATE.finditer(text):
        innocent = found[0] == "\u00ad" or (found[0] == "\ufeff" and found.start() == 0)
        if not innocent and not _has_purpose(found, right_to_left):
            yield found[0]


def _has_purpose(found: re.Match[str], right_to_left: bool) -> bool:
    character, text = found[0], found.string
    before, after = text[max(found.start() - 1, 0) : found.start()], text[found.end() : found.end() + 1]
    if character in _JOINERS:
        return _is_foreign(before) and _is_foreign(after)
    if character in _STYLES:
        return _is_foreign(before) or before in tuple("#*0123456789©®")
    return character in _MARKS and right_to_left


def _is_foreign(character: str) -> bool:
    return (character > "\u007f" and not _CANDIDATE.match(character)) or character in tuple(_STYLES)


def _has_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
