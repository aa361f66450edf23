"""Take a result that could not be pushed, part by part, and keep it for those who build on it."""

import hashlib
from functools import partial
from typing import Any

from whilly.core.assignment import AttemptKey
from whilly.core.errors import LeaseLost, Refused, UnknownTask
from whilly.store.database import Database
from whilly.store.transaction import Transaction
from whilly.wire.bundles import PART_BYTES, BundleOffer, BundleState, parts_of

LARGEST_MB = 100
"""What a bundle may have unless the operator says otherwise."""


async def offer_bundle(
    database: Database, key: AttemptKey, offer: BundleOffer, *, largest: int = LARGEST_MB * 2**20
) -> BundleState:
    """Begin a bundle, go on with one, or, when all its parts are there, check and seal it.

    May be repeated. Parts that together do not have the hash that was offered are dropped, and all are missing again.
    Raises LeaseLost once the attempt is over, UnknownTask, and Refused for a bundle of more than `largest` bytes.
    """
    if not 0 < offer.size <= largest:
        raise Refused(
            f"The result of {key.task} has {offer.size / 2**20:.1f} MB as a bundle, more than the "
            f"{largest / 2**20:g} MB that this control plane takes; give its worker the right to push, "
            "or raise WHILLY_BUNDLE_LIMIT_MB."
        )
    return await database.transact(partial(_offer, key=key, offer=offer))


async def keep_bundle_part(database: Database, key: AttemptKey, number: int, data: bytes) -> None:
    """Keep one part; sent twice, it is kept once. Raises as `offer_bundle` does, and Refused for what is no part."""
    async with database.transaction() as tx:
        row = await _bundle(tx, key)
        if row["size_bytes"] is None:
            raise Refused(f"No bundle was offered for attempt {key.epoch} of task {key.task}.")
        if not 0 <= number < parts_of(row["size_bytes"]):
            raise Refused(f"The bundle of task {key.task} has no part {number}.")
        if len(data) != min(PART_BYTES, row["size_bytes"] - number * PART_BYTES):
            raise Refused(
                f"Part {number} of the bundle of task {key.task} has {len(data)} bytes, which is not its size."
            )
        if not row["sealed"]:
            await tx.execute("store_bundle_part", *_of(key), number, data)


async def _offer(tx: Transaction, key: AttemptKey, offer: BundleOffer) -> BundleState:
    row = await _bundle(tx, key)
    digest = bytes.fromhex(offer.sha256)
    if row["size_bytes"] is not None and (row["commit_id"], row["size_bytes"], row["sha256"]) != (
        offer.commit,
        offer.size,
        digest,
    ):
        await tx.execute("delete_bundle", *_of(key))
    elif row["sealed"]:
        return BundleState((), PART_BYTES, whole=True)
    if row["size_bytes"] is None:
        await tx.execute("delete_abandoned_bundles")
    await tx.execute("announce_bundle", *_of(key), offer.commit, offer.size, digest)
    have = {part["number"] for part in await tx.fetch("numbers_of_bundle_parts", *_of(key))}
    missing = tuple(number for number in range(parts_of(offer.size)) if number not in have)
    if missing:
        return BundleState(missing, PART_BYTES, whole=False)
    if await _digest(tx, key, parts_of(offer.size)) != digest:
        # Begun anew, and not refused: this transaction has to last.
        await tx.execute("delete_bundle", *_of(key))
        await tx.execute("announce_bundle", *_of(key), offer.commit, offer.size, digest)
        return BundleState(tuple(range(parts_of(offer.size))), PART_BYTES, whole=False)
    await tx.execute("seal_bundle", *_of(key))
    await tx.execute("delete_older_bundles", *_of(key))
    return BundleState((), PART_BYTES, whole=True)


async def _digest(tx: Transaction, key: AttemptKey, parts: int) -> bytes:
    """Of all parts together, with one of them in memory at a time."""
    found = hashlib.sha256()
    for number in range(parts):
        (part,) = await tx.fetch("bundle_part", *_of(key), number)
        found.update(part["data"])
    return found.digest()


async def _bundle(tx: Transaction, key: AttemptKey) -> Any:
    rows = await tx.fetch("bundle_of_attempt", *_of(key))
    if not rows:
        raise UnknownTask(key.plan, key.task)
    if not rows[0]["running"]:
        raise LeaseLost(key.task, key.epoch, rows[0]["epoch"])
    return rows[0]


def _of(key: AttemptKey) -> tuple[str, str, int]:
    return key.plan, key.task, key.epoch
