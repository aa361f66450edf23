r"""What is wrong where the JSON scanner stopped, and how to carry on behind it, so that later mistakes are found too.

A mended text never becomes a plan: it only shows more problems. Each mend keeps the number of lines.
"""

import re
from dataclasses import dataclass
from json import JSONDecodeError

from whilly.planfile.problems import quoted


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake of syntax. `mended` is the text without it; None when what follows cannot be understood."""

    position: int
    what: str
    remedy: str
    mended: str | None = None


def is_cut_off(text: str, error: JSONDecodeError) -> bool:
    """Whether the scanner stopped only because the text ends there."""
    rest = text[error.pos : error.pos + 12]
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip(_BLANKS):
        return True
    if error.pos + len(rest) < len(text):
        return False
    if error.msg.startswith("Invalid \\u"):
        return bool(re.fullmatch(r"\\?u?[0-9a-fA-F]{0,4}", rest))
    if any(word.startswith(rest) for word in ("true", "false", "null", "NaN", "Infinity", "-Infinity")):
        return True
    return text[error.pos - 1 : error.pos].isdigit() and bool(re.fullmatch(r"\.|[eE][+-]?", rest))


def diagnose(text: str, start: int, error: JSONDecodeError) -> Mistake:
    """Name the mistake. The JSON begins at `start`; it is not cut off."""
    if error.msg.startswith("Invalid control"):
        return _control_character(text, error.pos)
    if error.msg.startswith("Invalid \\"):
        return _escape(text, error.pos)
    here = _next(text, error.pos)
    return (
        (_not_json(text, here) if here == start else None)
        or _conflict(text, here)
        or _stray_nul(text, here)
        or _comment(text, here)
        or _comma(text, here)
        or _missing_comma(text, here, error.msg)
        or _foreign_word(text, here)
        or _unexpected(text, here, error.msg)
    )


_BLANKS = " \t\r\n"
_BLANK_SPACE = re.compile(f"[{_BLANKS}]*")


def _next(text: str, position: int) -> int:
    match = _BLANK_SPACE.match(text, position)
    return match.end() if match else position


def _last(text: str, position: int) -> int:
    return max(len(text[:position].rstrip(_BLANKS)) - 1, 0)


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]


def _excerpt(text: str, position: int) -> str:
    return quoted(text[position : position + 40].split("\n", 1)[0].rstrip(), 24)


def _without_nul(text: str, position: int) -> Mistake:
    count = text.count("\0")
    many = f" ({count} in the file)" if count > 1 else ""
    return Mistake(position, f"A NUL byte stands here{many}", "Remove it.", text.replace("\0", " "))


def _control_character(text: str, position: int) -> Mistake:
    character = text[position]
    if character == "\0":
        return _without_nul(text, position)
    if character in "\r\n":
        return Mistake(
            position,
            "A text is not closed at the end of its line",
            'Close it with "; a line break inside a text is written \\n.',
        )
    escape = {"\t": r"\t", "\b": r"\b", "\f": r"\f"}.get(character, f"\\u{ord(character):04x}")
    return Mistake(
        position,
        f"The control character U+{ord(character):04X} stands inside a text",
        f"Write {escape}, or remove it.",
        _blanked(text, position, position + 1),
    )


def _escape(text: str, position: int) -> Mistake:
    backslash = text.rfind("\\", max(position - 6, 0), position + 1)
    return Mistake(
        backslash,
        f"{_excerpt(text, backslash)} is no escape that JSON knows",
        "Write a backslash as \\\\.",
        text[:backslash] + "\\" + text[backslash:],
    )


def _not_json(text: str, here: int) -> Mistake:
    return Mistake(
        here,
        f"This is not JSON: it begins with {_excerpt(text, here)}",
        'A plan is one JSON object: {"project": "…", "tasks": […]}.',
    )


def _conflict(text: str, here: int) -> Mistake | None:
    marker = text[here : here + 7]
    if marker not in ("<<<<<<<", "=======", ">>>>>>>"):
        return None
    return Mistake(here, f'Git left a conflict here ("{marker}")', "Resolve it, then try again.")


def _stray_nul(text: str, here: int) -> Mistake | None:
    return _without_nul(text, here) if text[here] == "\0" else None


def _comment(text: str, here: int) -> Mistake | None:
    if text[here] == "#" or text.startswith("//", here):
        end = text.find("\n", here)
        end = len(text) if end < 0 else end
    elif text.startswith("/*", here):
        end = text.find("*/", here) + 2
        if end < 2:
            return Mistake(here, "A comment is never closed, and JSON has no comments", "Remove it.")
    else:
        return None
    return Mistake(here, "JSON has no comments", "Remove it.", _blanked(text, here, end))


def _comma(text: str, here: int) -> Mistake | None:
    comma = here if text[here] == "," else _last(text, here)
    if text[comma] != ",":
        return None
    following = text[_next(text, comma + 1) : _next(text, comma + 1) + 1]
    if following and following in "}]":
        what = f'A trailing comma stands before "{following}"'
    elif comma == here:
        what = "There is a comma too many"
    else:
        return None
    return Mistake(comma, what, "Remove the comma.", _blanked(text, comma, comma + 1))


def _missing_comma(text: str, here: int, message: str) -> Mistake | None:
    before = _last(text, here)
    if not message.startswith("Expecting ','") or text[here] not in '"{[' or before + 1 == here:
        return None
    gap = text[before + 1]
    rest = text[before + 1 :] if gap in "\r\n" else text[before + 2 :]
    return Mistake(
        before, f"A comma is missing before {_excerpt(text, here)}", "Write it.", text[: before + 1] + "," + rest
    )


def _foreign_word(text: str, here: int) -> Mistake | None:
    for word, right in (("True", "true"), ("False", "false"), ("None", "null"), ("undefined", "null")):
        if text.startswith(word, here):
            mended = text[:here] + right + text[here + len(word) :]
            return Mistake(here, f"{word} is not JSON", f"Write {right}.", mended)
    return None


def _unexpected(text: str, here: int, message: str) -> Mistake:
    found = _excerpt(text, here)
    if text[here] == "'":
        return Mistake(here, f"{found} is in single quotes, which is not JSON", "Write double quotes.")
    if message.startswith("Expecting property name"):
        return Mistake(
            here, f"This is not JSON: {found} stands where a key is expected", 'Write the key in double quotes: "id".'
        )
    if message.startswith("Expecting ':'"):
        return Mistake(here, f"This is not JSON: {found} stands where a colon is expected", 'Write "key": value.')
    if message.startswith("Expecting ','"):
        what = f"This is not JSON: {found} stands where the list or object goes on or ends"
        if text[_last(text, here)] == '"' and text[here] not in "}]":
            return Mistake(here, what, 'Write a double quote inside a text as \\", and a comma between values.')
        return Mistake(here, what, 'Write a comma between values, "]" at the end of a list, "}" at that of an object.')
    return Mistake(
        here,
        f"This is not JSON: {found} stands where a value is expected",
        'Write a "text", a number, true, false, null, a list or an object.',
    )
