"""The log as lines of JSON."""

from dataclasses import dataclass
from typing import Any

import msgspec

from whilly.store.database import Database


@dataclass(frozen=True, slots=True)
class Line:
    """One event as one line, with its end."""

    position: int
    hash: str
    text: bytes


async def lines_after(database: Database, position: int, limit: int) -> list[Line]:
    """Up to `limit` events beyond a position, oldest first. Texts are as they were stored: without secrets."""
    return [
        Line(row["position"], row["hash"].hex(), msgspec.json.encode(_told(row)) + b"\n")
        for row in await database.read("events_after", position, None, limit)
    ]


async def hash_at(database: Database, position: int) -> str | None:
    """The hash of the event at a position; None where there is none."""
    rows = await database.read("hash_at", position)
    return rows[0]["hash"].hex() if rows else None


def _told(row: Any) -> dict[str, object]:
    return {
        "ts": row["at"],
        "event": row["type"],
        "event_type": row["type"],
        "task_id": row["task_id"],
        "plan_id": row["plan_id"],
        "payload": msgspec.Raw(row["payload"].encode()),
        "detail": None if row["detail"] is None else msgspec.Raw(row["detail"].encode()),
        "position": row["position"],
        "hash": row["hash"].hex(),
    }
