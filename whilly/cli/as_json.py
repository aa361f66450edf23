"""Values as JSON on stdout, for programs."""

import json
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any

import typer

from whilly.core.money import to_usd
from whilly.core.plan import Priority

_MONEY = {"budget", "spent", "reserved", "cost"}
_AS_THEY_ARE = {str, int, float, bool, type(None)}


def say_json(value: object) -> None:
    """Print a dataclass, or plain data, as indented JSON; money in dollars, as exact decimal texts."""
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))


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
