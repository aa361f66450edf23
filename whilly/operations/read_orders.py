"""What is wanted at once of workers that have attempts under way."""

from collections.abc import Sequence
from dataclasses import dataclass

from whilly.core.assignment import AttemptKey
from whilly.store.database import Database


@dataclass(frozen=True, slots=True)
class Standing:
    """One worker's orders, as they stand."""

    session: int
    """Of the process that works under this identity now."""
    draining: bool
    cancel: frozenset[AttemptKey]
    """Its attempts that people cancelled."""


async def read_orders(database: Database, workers: Sequence[str]) -> dict[str, Standing]:
    """The orders for each of the workers."""
    return {
        row["id"]: Standing(
            row["session"],
            row["draining"],
            frozenset(
                AttemptKey(plan, task, epoch)
                for plan, task, epoch in zip(row["plans"], row["tasks"], row["epochs"], strict=True)
            ),
        )
        for row in await database.fetch("orders", list(workers))
    }
