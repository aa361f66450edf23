"""One process at a time works under a worker's identity."""

from functools import partial
from typing import Any

from whilly.core.duration import in_words
from whilly.core.errors import IdentityInUse, Superseded
from whilly.store.database import Database
from whilly.store.specs import to_json
from whilly.store.transaction import EVERY_PLAN, LostRace, Transaction
from whilly.wire.presence import Admission, Presence

ALIVE_SECONDS = 90
"""A process that gave a sign of life within this time may still be at work: one and a half leases."""


async def admit_worker(database: Database, worker: str, presence: Presence, *, plan: str | None = None) -> Admission:
    """Let a process work as `worker`, or take note of its news. `plan`: the only one it may work on, when it is new.

    Each new process gets a higher session. Raises IdentityInUse while another one may be at work, Superseded when
    another one has taken the place of this.
    """
    return await database.transact(partial(_admit, worker=worker, presence=presence, plan=plan))


async def leave(database: Database, worker: str, session: int) -> None:
    """The process has ended by itself."""
    await database.fetch("leave_worker", worker, session)


async def _admit(tx: Transaction, worker: str, presence: Presence, plan: str | None) -> Admission:
    (row,) = await tx.fetch("lock_worker", worker) or (None,)
    session = row["session"] if row else 0
    same = row is not None and row["incarnation"] == presence.incarnation
    if 0 < presence.session <= session and not same:
        raise Superseded(worker)
    if row is not None and not same:
        _refuse_second(row, presence)
        if row["incarnation"] and _may_be_at_work(row):
            payload = {"plan_id": EVERY_PLAN, "worker_id": worker, "hostname": presence.hostname}
            tx.tell(EVERY_PLAN, None, "worker.taken_over", {**payload, "session": session + 1})
    entered = await tx.fetch(
        "enter_worker",
        worker,
        presence.incarnation,
        session if same else session + 1,
        presence.hostname,
        list(presence.agents),
        to_json(presence.agents),
        list(presence.tags),
        presence.isolation,
        presence.slots,
        presence.free_disk_bytes,
        presence.state,
        plan,
    )
    if not entered:
        raise LostRace(f"two processes began as worker {worker} at the same moment")
    return Admission(worker, entered[0]["session"], entered[0]["draining"])


def _refuse_second(row: Any, presence: Presence) -> None:
    gone = not row["incarnation"] or row["incarnation"] in presence.previous or not _may_be_at_work(row)
    if gone or presence.take_over:
        return
    raise IdentityInUse(row["id"], row["hostname"], in_words(max(row["silent_seconds"], 0)))


def _may_be_at_work(row: Any) -> bool:
    return row["left_at"] is None and row["silent_seconds"] < ALIVE_SECONDS
