"""The line of any value of a JSON text.

Only the branches that lead to wanted values are walked here; everything beside them is skipped by the C scanner, so
that a mistake in one of 50,000 tasks is found in the time that parsing takes.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from json import JSONDecoder

from whilly.planfile.findings import Path, Step

_blanks = re.compile(r"[ \t\r\n]*").match
_skip = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).raw_decode


class _Branch:
    __slots__ = ("branches", "position")

    def __init__(self) -> None:
        self.branches: dict[Step, _Branch] = {}
        self.position = -1


def lines_of(text: str, start: int, paths: Iterable[Path]) -> dict[Path, int]:
    """For each path its line, from 1; for a path that does not exist, the line of what would contain it.

    The text holds well-formed JSON from `start`. Where a key is repeated, a path means its last value.
    """
    root = _Branch()
    wanted: dict[Path, list[_Branch]] = {}
    for path in paths:
        branch, trail = root, [root]
        for step in path:
            branch = branch.branches.setdefault(step, _Branch())
            trail.append(branch)
        wanted[path] = trail
    if not wanted:
        return {}
    with suppress(RecursionError):  # Such a file is refused for its depth anyway.
        _walk(text, start, root)
    positions = {
        path: next((b.position for b in reversed(trail) if b.position >= 0), 0) for path, trail in wanted.items()
    }
    lines: dict[Path, int] = {}
    line, counted = 1, 0
    for path, position in sorted(positions.items(), key=lambda item: item[1]):
        line += text.count("\n", counted, position)
        counted = position
        lines[path] = line
    return lines


def _walk(text: str, position: int, branch: _Branch) -> int:
    """Note the positions in the value that begins here, and return its end."""
    branch.position = position
    if branch.branches and text[position] == "{":
        return _walk_object(text, position, branch.branches)
    if branch.branches and text[position] == "[":
        return _walk_list(text, position, branch.branches)
    return _skip(text, position)[1]


def _walk_object(text: str, position: int, branches: dict[Step, _Branch]) -> int:
    seen: dict[str, int] = {}
    position = _after_blanks(text, position + 1)
    while text[position] != "}":
        key, end = _skip(text, position)
        times = seen[key] = seen.get(key, -1) + 1
        if repeated := branches.get((key, times)):
            repeated.position = position
        value = _after_blanks(text, _after_blanks(text, end) + 1)
        inner = branches.get(key)
        end = _walk(text, value, inner) if inner else _skip(text, value)[1]
        position = _after_comma(text, end)
    return position + 1


def _walk_list(text: str, position: int, branches: dict[Step, _Branch]) -> int:
    index = 0
    position = _after_blanks(text, position + 1)
    while text[position] != "]":
        inner = branches.get(index)
        end = _walk(text, position, inner) if inner else _skip(text, position)[1]
        position = _after_comma(text, end)
        index += 1
    return position + 1


def _after_blanks(text: str, position: int) -> int:
    match = _blanks(text, position)
    return match.end() if match else position


def _after_comma(text: str, position: int) -> int:
    position = _after_blanks(text, position)
    return _after_blanks(text, position + 1) if text[position] == "," else position
