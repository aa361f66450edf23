"""Take tasks back from workers that fell silent."""

from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.operations.end_attempts import Ended, end_attempts
from whilly.store.database import Database
from whilly.store.transaction import Transaction


async def sweep_leases(database: Database) -> int:
    """End up to 50 attempts whose lease ran out; how many it was. Any number of processes may do this at once."""
    return await database.transact(_sweep)


async def _sweep(tx: Transaction) -> int:
    expired = await tx.fetch("expired_attempts")
    keys = [[row[column] for row in expired] for column in ("plan_id", "id", "epoch")]
    rows = await tx.fetch("lock_attempts", *keys) if expired else []
    lost = [
        Ended(row, Report(Outcome.LOST_WORKER, reason=f"Worker {row['worker_id']} fell silent and its lease ran out."))
        for row in rows
    ]
    if lost:
        await end_attempts(tx, lost)
    return len(lost)
