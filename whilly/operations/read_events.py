"""The log, by position."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from whilly.operations.sequence_events import BEGINNING, chained
from whilly.store.database import Database

PAGE = 5_000
"""Events checked at a time when the whole log is verified."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event at its place in the log."""

    position: int
    at: datetime
    type: str
    plan: str
    """`*` for what concerns no plan in particular."""
    task: str | None
    payload: dict[str, Any]
    detail: dict[str, Any] | None
    hash: bytes


async def events_after(
    database: Database, position: int, plan: str | None = None, limit: int = 100
) -> list[StoredEvent]:
    """Up to `limit` events beyond a position, oldest first, of all plans or of one."""
    return [event_from(row) for row in await database.read("events_after", position, plan, limit)]


async def heard_of(database: Database, plan: str) -> bool:
    """Whether there is a plan by that name, or was one: the log outlives it."""
    return bool(await database.read("plan_by_id", plan) or await events_after(database, 0, plan, 1))


async def end_of_log(database: Database) -> int:
    """The position of the newest event; 0 when there is none."""
    return int((await database.read("end_of_log"))[0]["position"])


async def verify_log(database: Database) -> int | None:
    """The first position whose event is missing or not what it was when it was hashed; None when the log is sound."""
    position, digest = 0, BEGINNING
    while rows := await database.read("events_to_verify", position, PAGE):
        for row in rows:
            position += 1
            if row["position"] != position or row["id"] is None:
                return position
            digest = chained(digest, position, row)
            if digest != row["hash"]:
                return position
    return None


def event_from(row: Any) -> StoredEvent:
    """An event from a row that has all its columns."""
    return StoredEvent(
        position=row["position"],
        at=row["at"],
        type=row["type"],
        plan=row["plan_id"],
        task=row["task_id"],
        payload=msgspec.json.decode(row["payload"]),
        detail=None if row["detail"] is None else msgspec.json.decode(row["detail"]),
        hash=row["hash"],
    )
