"""Know who works here."""

from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN
from whilly.wire.work import Registration


async def register_worker(database: Database, worker: str, registration: Registration) -> None:
    """Enter a worker, or enter it anew after a restart under the same id."""
    async with database.transaction() as tx:
        await tx.execute(
            "register_worker", worker, registration.hostname, list(registration.agents), registration.isolation
        )
        payload = {"plan_id": EVERY_PLAN, "worker_id": worker, "hostname": registration.hostname}
        tx.tell(EVERY_PLAN, None, "worker.registered", payload)
