"""Values to JSON and back, checked by pydantic. The values are the plain dataclasses of `core` and `wire`."""

from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

Value = TypeVar("Value")


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, kind))


def encode(value: Any) -> bytes:
    """JSON of a dataclass, as its type describes it."""
    return _adapter(cast(Hashable, type(value))).dump_json(value)


def decode(kind: type[Value], data: bytes | str) -> Value:
    """The value that the JSON describes; unknown keys are ignored. Raises pydantic.ValidationError."""
    return cast(Value, _adapter(cast(Hashable, kind)).validate_json(data))
