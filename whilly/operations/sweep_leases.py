"""Take tasks back from workers that fell silent."""

import logging
from functools import partial

from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.operations.end_attempts import Ended, end_attempts
from whilly.store.database import AWAY, Database
from whilly.store.transaction import Transaction

log = logging.getLogger(__name__)

ALL = slice(None)


async def sweep_leases(database: Database) -> int:
    """End up to 50 attempts whose lease ran out; how many it was. Any number of processes may do this at once."""
    try:
        return await database.transact(partial(_sweep, part=ALL))
    except AWAY:
        raise
    except Exception:
        log.exception("Attempts whose lease ran out cannot be ended together; each is tried on its own")
        return await _sweep_one_by_one(database)


async def _sweep_one_by_one(database: Database) -> int:
    """One that cannot be ended must not keep the others from their next worker."""
    ended = hopeless = 0
    while True:
        try:
            swept = await database.transact(partial(_sweep, part=slice(hopeless, hopeless + 1)))
        except AWAY:
            raise
        except Exception as failure:
            log.error("An attempt whose lease ran out cannot be ended: %s", failure)
            hopeless += 1
            continue
        if not swept:
            return ended
        ended += swept


async def _sweep(tx: Transaction, part: slice) -> int:
    expired = (await tx.fetch("expired_attempts"))[part]
    keys = [[row[column] for row in expired] for column in ("plan_id", "id", "epoch")]
    rows = await tx.fetch("lock_attempts", *keys) if expired else []
    lost = [
        Ended(row, Report(Outcome.LOST_WORKER, reason=f"Worker {row['worker_id']} fell silent and its lease ran out."))
        for row in rows
    ]
    if lost:
        await end_attempts(tx, lost)
    return len(lost)
