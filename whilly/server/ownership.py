"""Whose attempt it is. An epoch can be guessed, so knowing it is not enough to report on an attempt."""

from whilly.core.assignment import AttemptKey
from whilly.operations.check_token import Caller
from whilly.server.auth import admit_to_plan
from whilly.server.errors import Denied
from whilly.store.database import Database

REMEMBERED = 20_000


class Ownership:
    """Remembers which worker got which attempt; that never changes, so it is asked of the database once at most."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers: dict[AttemptKey, str] = {}

    def note(self, key: AttemptKey, worker: str) -> None:
        """This attempt was handed to this worker."""
        if len(self._workers) >= REMEMBERED:
            self._workers.clear()
        self._workers[key] = worker

    async def check(self, caller: Caller, key: AttemptKey) -> bool:
        """Whether there is such an attempt. Raises Denied when it is somebody else's."""
        admit_to_plan(caller, key.plan)
        worker = self._workers.get(key)
        if worker is None:
            rows = await self._database.fetch("worker_of_attempt", key.plan, key.task, key.epoch)
            if not rows:
                return False
            worker = rows[0]["worker_id"]
            self.note(key, worker)
        if worker != caller.name:
            raise Denied(403, "not_yours", f"Attempt {key.epoch} of task {key.task} belongs to another worker.")
        return True
