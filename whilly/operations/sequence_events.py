"""Give committed events their place in the log."""

import hashlib
from typing import Any

import msgspec

from whilly.store.database import Database
from whilly.store.transaction import Transaction

ROUND = 2_000
"""Events sequenced in one transaction: a backlog after a large import is worked off in steps of about 50 ms."""

BEGINNING = bytes(32)
"""What the first event's hash builds on."""


async def sequence_events(database: Database) -> int:
    """One round: give up to ROUND committed events consecutive positions and chained hashes; how many.

    Any number of processes may run this; one at a time does the work. An identity column cannot be the position: it is
    drawn before the commit, so a reader would pass over events that commit late.
    """
    return await database.transact(_sequence)


async def _sequence(tx: Transaction) -> int:
    (lock,) = await tx.fetch("lock_the_log")
    if not lock["held"]:
        return 0
    events = await tx.fetch("take_pending_events", ROUND)
    if not events:
        return 0
    (end,) = await tx.fetch("end_of_log")
    position, digest = end["position"], end["hash"] or BEGINNING
    hashes = []
    for event in events:
        position += 1
        digest = chained(digest, position, event)
        hashes.append(digest)
    await tx.execute("append_to_log", end["position"], [event["id"] for event in events], hashes)
    return len(events)


def chained(before: bytes, position: int, event: Any) -> bytes:
    """The hash of an event at its position: SHA-256 over the hash before it and everything that is stored of it."""
    content = [
        position,
        event["id"],
        event["plan_id"],
        event["task_id"],
        event["type"],
        event["payload"],
        event["detail"],
        event["at"].isoformat(),
    ]
    return hashlib.sha256(before + msgspec.json.encode(content)).digest()
