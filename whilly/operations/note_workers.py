"""Remember which workers are there."""

from collections.abc import Collection

from whilly.store.database import Database


async def note_workers(database: Database, workers: Collection[str]) -> None:
    """These workers gave a sign of life just now. Ones that never registered are passed over."""
    await database.fetch("note_workers", sorted(workers))
