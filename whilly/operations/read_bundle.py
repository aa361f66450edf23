"""Give out results that are kept as bundles."""

from whilly.store.database import Database
from whilly.wire.bundles import BundleTold, parts_of


async def newest_bundle(database: Database, plan: str, task: str) -> BundleTold | None:
    """What there is of a task; None when its result is no bundle."""
    rows = await database.fetch("newest_bundle", plan, task)
    if not rows:
        return None
    row = rows[0]
    return BundleTold(
        row["epoch"], row["commit_id"], row["size_bytes"], row["sha256"].hex(), parts_of(row["size_bytes"])
    )


async def bundle_part(database: Database, plan: str, task: str, epoch: int, number: int) -> bytes | None:
    """One part of a whole bundle; None when there is no such part."""
    rows = await database.fetch("bundle_part", plan, task, epoch, number)
    return bytes(rows[0]["data"]) if rows and rows[0]["sealed"] else None
