"""Text from outside, as a prompt may carry it: in a fence that it cannot close, with nothing hidden in it."""

import re
from collections.abc import Sequence

from whilly.core.invisible import made_visible
from whilly.core.terminal import clean, one_line

_BACKTICKS = re.compile(r"`+")


def quoted(text: str) -> str:
    """The text between two lines of backticks, one more than any run of them inside."""
    plain = readable(text).strip("\n")
    fence = "`" * max(3, _longest_run(plain) + 1)
    return f"{fence}text\n{plain}\n{fence}"


def quoted_list(items: Sequence[str]) -> str:
    """The items numbered, in one quotation; further lines of an item are indented below its first."""
    numbered = []
    for number, item in enumerate(items, 1):
        first, *rest = readable(item).strip().splitlines() or [""]
        numbered += [f"{number}. {first}", *(f"   {line}" for line in rest)]
    return quoted("\n".join(numbered))


def inline(text: str) -> str:
    """The text as code within a sentence, on one line."""
    plain = one_line(made_visible(text), limit=300)
    ticks = "`" * (_longest_run(plain) + 1)
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def readable(text: str) -> str:
    """Without control characters and escape sequences; characters that people do not see are spelled out."""
    return clean(made_visible(text))


def cut(text: str, most: int) -> str:
    """At most so many characters, and a line that says how many are missing; the end, where errors stand, gets most."""
    if len(text) <= most:
        return text
    head = most // 4
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[len(text) - (most - head) :]}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
