"""Text to JSON values. What JSON itself cannot express is marked in the values, for the rules that follow."""

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from json import JSONDecodeError, JSONDecoder

from whilly.planfile.envelope import Around, Region, line_at
from whilly.planfile.findings import Findings
from whilly.planfile.mending import diagnose, is_cut_off

MOST_MENDS = 20
"""Mistakes of syntax reported in one reading; each costs a pass over the file."""

_MOST_DIGITS = 18
_ESCAPES_TO_CHECK = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


class RepeatedKeys(dict[str, object]):
    """An object in which keys come twice; it holds the last value of each."""

    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreal:
    """NaN or an infinity, or a number with an exponent beyond all measure."""

    name: str


@dataclass(slots=True)
class Document:
    """What a text says, and what of it needs a closer look."""

    value: object
    text: str
    start: int
    is_suspect: bool
    """It may contain repeated keys, numbers that are none, NUL or half characters."""


@dataclass(slots=True)
class _Scanner:
    """The C scanner of the standard library, with hooks for what it would let pass."""

    saw_something: bool = False
    decoder: JSONDecoder = field(init=False)

    def __post_init__(self) -> None:
        self.decoder = JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._whole,
            parse_float=self._fraction,
            parse_constant=self._constant,
        )

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        self.saw_something = True
        marked = RepeatedKeys(values)
        counts = Counter(key for key, _ in pairs)
        marked.repeated = tuple(key for key, count in counts.items() if count > 1)
        return marked

    def _whole(self, digits: str) -> int | Decimal | Unreal:
        return int(digits) if len(digits) <= _MOST_DIGITS else self._fraction(digits)

    def _fraction(self, digits: str) -> Decimal | Unreal:
        try:
            return Decimal(digits)
        except ArithmeticError:
            return self._constant(digits)

    def _constant(self, name: str) -> Unreal:
        self.saw_something = True
        return Unreal(name)


def parse(text: str, region: Region, findings: Findings) -> Document | None:
    """The values in the region; None when even mending does not make it JSON.

    Any mistake of syntax is a problem, so that a document from a mended text never becomes a plan.
    """
    scanner = _Scanner()
    body = text[: region.end]
    line = 1
    for _ in range(MOST_MENDS):
        try:
            value, end = scanner.decoder.raw_decode(body, region.start)
        except RecursionError:
            _too_deep(body, region.start, findings)
            return None
        except JSONDecodeError as error:
            if is_cut_off(body, error):
                _truncated(text, region, error, findings)
                return None
            mistake = diagnose(body, region.start, error)
            line = line_at(body, mistake.position)
            findings.problem(line, mistake.what, mistake.remedy)
            if mistake.mended is None:
                return None
            body = mistake.mended
        else:
            if not _ends_there(body, end, region, findings):
                return None
            is_suspect = scanner.saw_something or bool(_ESCAPES_TO_CHECK.search(body, region.start))
            return Document(value, body, region.start, is_suspect)
    what = f"After {MOST_MENDS} mistakes of syntax the rest was not read"
    findings.problem(line, what, "Mend those first, then try again.")
    return None


def _truncated(text: str, region: Region, error: JSONDecodeError, findings: Findings) -> None:
    """The byte offset is that of the end of what is there."""
    line = line_at(text, len(text[: region.end].rstrip()))
    if error.msg.startswith("Unterminated string"):
        begins = line_at(error.doc, error.pos)
        where = f"inside a text that begins on line {begins}"
    elif region.around is Around.OPEN_FENCE:
        where = "inside a fenced block"
    else:
        where = "before the JSON is complete"
    offset = len(text[: region.end].encode("utf-8"))
    what = f"The plan is truncated: it ends at byte offset {offset} {where}"
    findings.problem(line, what, "Copy or write it again; nothing was taken from it.")


def _ends_there(body: str, end: int, region: Region, findings: Findings) -> bool:
    rest = body[end:]
    if region.around is Around.OPEN_FENCE:
        offset = len(body.encode("utf-8"))
        what = f"The file is truncated: it ends at byte offset {offset} inside a fenced block"
        findings.problem(line_at(body, len(body.rstrip())), what, "Close the block with ``` if the JSON is complete.")
        return False
    if not rest.strip():
        return True
    if region.around is Around.PROSE and re.fullmatch(r'[ \t\r]*\n[^{}\[\]"]*', rest):
        return True
    begins = end + len(rest) - len(rest.lstrip())
    findings.problem(
        line_at(body, begins),
        f"This is not JSON: something follows the end of the plan on line {line_at(body, end - 1)}",
        "Remove it, or the bracket that ends the plan too early.",
    )
    return False


def _too_deep(body: str, start: int, findings: Findings) -> None:
    """Everything before the place where the scanner gave up is well-formed, so brackets can be counted."""
    depth, position = 0, start
    for match in _BRACKETS.finditer(body, start):
        if match.group() in ("{", "["):
            depth += 1
        elif match.group() in ("}", "]"):
            depth -= 1
        if depth > findings.limits.depth:
            position = match.start()
            break
    findings.problem(line_at(body, position), *nested_too_deeply(findings.limits.depth))


def nested_too_deeply(depth: int) -> tuple[str, str]:
    """The sentence and the remedy."""
    return f"Lists and objects are nested deeper than {depth} levels", "A plan needs five; flatten it."
