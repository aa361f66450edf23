"""Who works here."""

from dataclasses import dataclass
from datetime import datetime

from whilly.store.database import Database
from whilly.store.specs import from_json


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as it introduced itself."""

    id: str
    hostname: str
    agents: dict[str, str]
    """With their versions; empty where it told none."""
    tags: tuple[str, ...]
    isolation: str
    slots: int
    free_disk_bytes: int | None
    plan: str | None
    """The only plan that it works on; None: any."""
    online: bool
    draining: bool
    state: str
    registered_at: datetime
    last_seen: datetime


async def list_workers(database: Database, plan: str | None = None, limit: int = 1_000) -> list[WorkerView]:
    """Workers of all plans, or those that may work on one; those seen last first."""
    return [
        WorkerView(
            id=row["id"],
            hostname=row["hostname"],
            agents=dict.fromkeys(row["agents"], "") | from_json(dict[str, str], row["versions"]),
            tags=tuple(row["tags"]),
            isolation=row["isolation"],
            slots=row["slots"],
            free_disk_bytes=row["free_disk_bytes"],
            plan=row["plan_id"],
            online=row["online"],
            draining=row["draining"],
            state=row["state"],
            registered_at=row["registered_at"],
            last_seen=row["last_seen"],
        )
        for row in await database.read("list_workers", plan, limit)
    ]
