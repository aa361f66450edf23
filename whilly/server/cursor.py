"""Places between two tasks, as clients carry them about: base64url of priority and id, opaque to them."""

import base64
import binascii
import json
from collections.abc import Sequence

from whilly.operations.read_task_page import BEGINNING, ListedTask, Place
from whilly.server.errors import Denied
from whilly.server.query import Word

CURSOR = Word("cursor", "`next_cursor` of the page before.")


def cursor_after(page: Sequence[ListedTask]) -> str:
    """The place behind the last task of a page."""
    place: Place = (page[-1].priority.value, page[-1].task.id)
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def place_of(cursor: str | None) -> Place:
    """The place that a cursor names; the beginning without one. Raises Denied."""
    if cursor is None:
        return BEGINNING
    try:
        decoded = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        decoded = None
    match decoded:
        case [int(priority), str(task)] if 0 <= priority <= 3 and "\0" not in task and task.isascii():
            return priority, task
        case _:
            raise Denied(400, "bad_cursor", "This cursor is not one of ours; start again without it.")
