"""Keep a worker from taking tasks, without stopping what it does."""

from whilly.core.errors import UnknownWorker
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN


async def drain_worker(database: Database, worker: str, by: str, *, draining: bool = True) -> None:
    """From now on the worker takes no more tasks, or takes them again. Raises UnknownWorker."""
    async with database.transaction() as tx:
        if not await tx.fetch("drain_worker", worker, draining):
            raise UnknownWorker(worker)
        kind = "worker.draining" if draining else "worker.resumed"
        tx.tell(EVERY_PLAN, None, kind, {"plan_id": EVERY_PLAN, "worker_id": worker, "by": by})
