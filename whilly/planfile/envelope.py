"""Where in a text the plan stands: the whole of it, one fenced block, or the JSON after a few lines of prose."""

import re
from dataclasses import dataclass
from enum import Enum

from whilly.planfile.findings import Findings
from whilly.planfile.text import BYTE_ORDER_MARK


class Around(Enum):
    """What surrounds the JSON."""

    NOTHING = "nothing"
    FENCE = "fence"
    OPEN_FENCE = "a fence that is never closed"
    PROSE = "prose"


@dataclass(frozen=True, slots=True)
class Region:
    """The JSON is in `text[start:end]`."""

    start: int
    end: int
    around: Around = Around.NOTHING


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    opening: int
    start: int
    end: int
    closed: bool


_JSON_BEGINS = re.compile(r'\s*(\{|\[\s*([{\["\]]|\Z))')
_LINE_WITH_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\r\n]*?)[ \t]*\r?$", re.MULTILINE)
_JSON_LANGUAGES = ("json", "json5", "jsonc")


def find_plan(text: str, findings: Findings) -> Region | None:
    """The one place where a plan can stand; None, with a problem, when there are several.

    A text that begins as JSON is JSON to its end: fences inside it are part of its values. A line of JSON can never
    begin with a fence, because a text in JSON contains no raw line breaks.
    """
    start = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    if _JSON_BEGINS.match(text, start):
        return Region(_first_character(text, start), len(text))
    blocks = [block for block in _blocks(text, start) if _may_hold_a_plan(text, block)]
    if len(blocks) > 1:
        first, second = (line_at(text, block.opening) for block in blocks[:2])
        findings.problem(
            second,
            f"The plan is ambiguous: {len(blocks)} fenced blocks, the first two on lines {first} and {second}",
            "Keep only one of them.",
        )
        return None
    if blocks:
        block = blocks[0]
        around = Around.FENCE if block.closed else Around.OPEN_FENCE
        return Region(_first_character(text, block.start), block.end, around)
    if line := _LINE_WITH_OBJECT.search(text, start):
        return Region(line.end() - 1, len(text), Around.PROSE)
    return Region(_first_character(text, start), len(text))


def line_at(text: str, position: int) -> int:
    """The line of a character, from 1."""
    return text.count("\n", 0, position) + 1


def _first_character(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip(" \t\r\n"))


def _may_hold_a_plan(text: str, block: _Block) -> bool:
    return block.language in _JSON_LANGUAGES or bool(_JSON_BEGINS.match(text, block.start, block.end))


def _blocks(text: str, start: int) -> list[_Block]:
    blocks = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start):
        marks, info = fence.groups()
        if opening is None:
            opening = fence
        elif not info and marks.startswith(opening[1]):
            blocks.append(_block(opening, fence.start(), closed=True))
            opening = None
    if opening is not None:
        blocks.append(_block(opening, len(text), closed=False))
    return blocks


def _block(opening: re.Match[str], end: int, *, closed: bool) -> _Block:
    language = opening[2].split(maxsplit=1)[0].lower() if opening[2] else ""
    return _Block(language, opening.start(), min(opening.end() + 1, end), end, closed)
