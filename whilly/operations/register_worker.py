"""Know who works here."""

from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN
from whilly.wire.work import Registration


async def register_worker(
    database: Database, worker: str, registration: Registration, *, plan: str | None = None
) -> None:
    """Enter a worker, or enter it anew after a restart under the same id. It claims tasks of `plan` (None: of any)."""
    async with database.transaction() as tx:
        await tx.execute(
            "register_worker",
            worker,
            registration.hostname,
            list(registration.agents),
            registration.isolation,
            plan,
        )
        payload = {"plan_id": EVERY_PLAN, "worker_id": worker, "hostname": registration.hostname}
        tx.tell(EVERY_PLAN, None, "worker.registered", payload)


async def sign_off_worker(database: Database, worker: str) -> None:
    """A worker has ended and takes no more tasks."""
    await database.fetch("sign_off_worker", worker)
