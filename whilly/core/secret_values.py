"""The looks of a secret that we know: as it is, and as programs print it."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Shorter values are not hidden: they would turn ordinary text into holes."""

RECOGNISABLE = 20
"""So many characters of the beginning give a secret away also where the rest was cut off."""


def forms_of(value: str) -> set[str]:
    """Every text by which a secret must be recognised, each at least SHORTEST characters long.

    A value of several lines (a key file in a variable) is recognised by each of its lines that has eight characters
    or more, because that is how it gets printed.
    """
    forms = {form for line in _lines_of(value) for form in _spellings(line)}
    forms.update(_encodings(value.strip()))
    return {form for form in forms if len(form) >= SHORTEST}


def _lines_of(value: str) -> list[str]:
    lines = value.strip().splitlines()
    if len(lines) <= 1:
        return [value.strip()]
    return [line.strip() for line in lines if len(line.strip()) >= 8]


def _spellings(line: str) -> Iterator[str]:
    yield line
    for escaped in (json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
    plain = line.encode("utf-8", "replace").decode("utf-8")
    for percent in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        yield percent
        yield _lower_hex(percent)


def _lower_hex(percent: str) -> str:
    head, *rest = percent.split("%")
    return head + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)


def _encodings(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "replace")
    if len(raw) < SHORTEST:
        return
    yield raw.hex()
    yield raw.hex().upper()
    for shift in range(3):
        yield from _base64_inside(raw, shift)
    whole = base64.b64encode(raw).decode()
    for width in (64, 76):
        yield from (whole[at : at + width] for at in range(0, len(whole), width) if len(whole) - at >= 16)


def _base64_inside(raw: bytes, shift: int) -> Iterator[str]:
    """The base64 digits that the secret gives wherever it stands `shift` bytes after a multiple of three."""
    digits = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
    first = (shift * 8 + 5) // 6
    last = (shift + len(raw)) * 8 // 6
    inside = digits[first:last]
    if len(inside) >= 8:
        yield inside
        yield inside.replace("+", "-").replace("/", "_")
