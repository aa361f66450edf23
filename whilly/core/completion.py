"""The agreement by which an agent says that it is done, or that it needs a person: its last line, and nothing else."""

import re

from whilly.core.terminal import clean, one_line

COMPLETION_MARKER = "<promise>COMPLETE</promise>"

_BLOCKED = re.compile(r"<promise>BLOCKED(?::\s*(?P<question>.*?))?\s*</promise>")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)")
_AROUND = " \t\u00a0\u200b\ufeff"


def says_complete(final_text: str) -> bool:
    """Whether the agent's closing words end with the marker alone on the last line that is not blank.

    A marker that is quoted, in a code block, in the middle of a sentence or followed by anything does not count.
    """
    return _last_line(final_text) == COMPLETION_MARKER


def says_blocked(final_text: str) -> str | None:
    """What the agent asks a person, from a last line `<promise>BLOCKED: question</promise>`; None when it does not."""
    blocked = _BLOCKED.fullmatch(_last_line(final_text))
    if blocked is None:
        return None
    return one_line(blocked["question"] or "", limit=1_000) or "The agent did not say what it needs."


def _last_line(text: str) -> str:
    """The last line that is not blank, without what surrounds it; empty when it stands in a code block."""
    last, fence = "", ""
    for line in clean(text).split("\n"):
        if bare := line.strip(_AROUND):
            last = bare
        if mark := _FENCE.fullmatch(line):
            fence = _after_fence(fence, mark["marks"], mark["rest"])
    return "" if fence else last


def _after_fence(fence: str, marks: str, rest: str) -> str:
    """The fence that is open after a line of marks; empty when none is."""
    if not fence:
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip()
    return "" if closes else fence
