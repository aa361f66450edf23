"""Values as JSON on stdout, for programs."""

import json
import re
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any

import typer

from whilly.core.money import to_usd
from whilly.core.plan import Priority

_MONEY = {"budget", "spent", "reserved", "cost", "daily_budget", "spent_today"}
_ACTED_UPON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_AS_THEY_ARE = {str, int, float, bool, type(None)}


def say_json(value: object) -> None:
    """Print a dataclass, or plain data, as indented JSON; money in dollars, as exact decimal texts."""
    typer.echo(as_json(value, indent=2))


def as_json(value: object, indent: int | None = None) -> str:
    """JSON in which letters of all scripts are themselves, and what a terminal would act upon is escaped."""
    return harmless(json.dumps(plain(value), indent=indent, ensure_ascii=False))


def harmless(text: str) -> str:
    """The same JSON with characters escaped that a terminal would act upon; those below 32 are escaped already."""
    return text if text.isascii() and "\x7f" not in text else _ACTED_UPON.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def plain(value: Any) -> Any:
    """Only dictionaries, lists, texts and numbers."""
    if type(value) in _AS_THEY_ARE:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return dict(_field(field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return {str(plain(key)): plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(content) for content in value]
    if isinstance(value, Priority):
        return value.word
    if isinstance(value, Enum) and not isinstance(value, IntEnum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _field(name: str, value: Any) -> tuple[str, Any]:
    if name in _MONEY and (value is None or isinstance(value, int)):
        return f"{name}_usd", None if value is None else f"{to_usd(value):f}"
    return name, plain(value)
