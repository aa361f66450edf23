"""What goes over an event stream, byte for byte."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from whilly.operations.read_events import StoredEvent

LARGEST_PAYLOAD = 64_000
"""Bytes of a payload that travel with the event; a larger one is left out and marked, to be read from the log."""

STILL_HERE = b": still here\n\n"
"""A comment: keeps proxies from closing a quiet stream, and shows us a client that is gone."""

_NOT_IN_A_NAME = re.compile(r"[^\x21-\x7e]")
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Frame:
    """One event, encoded once for all who watch."""

    position: int
    plan: str
    content: bytes


def frame_of(event: StoredEvent) -> Frame:
    """The event as it is sent: its name is the event's type, its id the position in the log."""
    payload = _encode(event.payload)
    told: dict[str, Any] = {
        "event_id": event.position,
        "event_type": event.type,
        "plan_id": event.plan,
        "task_id": event.task,
        "at": event.at,
    }
    if len(payload) > LARGEST_PAYLOAD:
        told |= {"payload": {}, "truncated": True}
    else:
        told["payload"] = msgspec.Raw(payload)
    return Frame(event.position, event.plan, note(event.type, told, event.position))


def note(name: str, data: dict[str, Any], position: int | None = None) -> bytes:
    """A frame with this name. A line break in a name would start a field of somebody else's choice: it is removed."""
    place = b"" if position is None else b"id: %d\n" % position
    clean = _NOT_IN_A_NAME.sub("", name) or "event"
    return b"%sevent: %s\ndata: %s\n\n" % (place, clean.encode(), _encode(data))
