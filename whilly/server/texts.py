"""How long a text may be that somebody sends, field by field."""

import dataclasses
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

from whilly.core.evidence import CheckResult, Report
from whilly.server.errors import Denied
from whilly.wire.work import Heartbeat, Release, Start

Value = TypeVar("Value")

LONGEST_OTHER = 512
LONGEST: dict[str, int | None] = {
    "comment": 20_000,
    "command": 8_000,
    "data": None,
    "last_line": 2_000,
    "note": 2_000,
    "output_head": 200_000,
    "output_tail": 200_000,
    "reason": 4_000,
    "state": 2_000,
    "summary": 20_000,
    "text": None,
}
"""Characters, by the field's name; None: as many as fit into the body."""

MOST_ITEMS = 1_000
"""Of a list inside a value, such as the tags of a worker."""

CUT = (Start, Heartbeat, Report, CheckResult, Release)
"""What an attempt says is cut where others are refused: a result must not be lost for a long sentence."""


def bounded(value: Value) -> Value:
    """The value with its texts cut where that is allowed. Raises Denied where it is not."""
    return cast(Value, _bounded(value, ""))


def _bounded(value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _bounded_fields(value)
    if isinstance(value, str):
        longest = LONGEST.get(name, LONGEST_OTHER)
        if longest is not None and len(value) > longest:
            raise Denied(422, "too_long", f"{name} is longer than {longest:,} characters.", "Shorten it.")
    elif isinstance(value, tuple | list):
        if name and len(value) > MOST_ITEMS:
            raise Denied(422, "too_long", f"{name} has more than {MOST_ITEMS:,} items.", "Send fewer.")
        return type(value)([_bounded(each, name) for each in value])
    elif isinstance(value, dict) and name == "agents":
        _bounded([*value, *value.values()], name)
    return value


def _bounded_fields(value: Any) -> Any:
    changed = {}
    cuts = isinstance(value, CUT)
    for name in _names(cast(Hashable, type(value))):
        old = getattr(value, name)
        shortened = cuts and isinstance(old, str)
        new = old[: LONGEST.get(name, LONGEST_OTHER)] if shortened else _bounded(old, name)
        if new is not old and new != old:
            changed[name] = new
    return dataclasses.replace(value, **changed) if changed else value


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cast(Any, kind)))
