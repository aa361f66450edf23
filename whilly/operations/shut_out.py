"""Turn somebody out: their tokens, what was issued with them, and the work that goes on under them."""

from dataclasses import dataclass

from whilly.core.assignment import AttemptKey
from whilly.core.errors import Refused, UnknownWorker, WhillyError
from whilly.operations.finish_attempts import release_attempt
from whilly.operations.revoke_token import revoke
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN, Transaction
from whilly.wire.work import Release

REVOKED = Release("admin_revoked", reason="Its worker's token was revoked.")


@dataclass(frozen=True, slots=True)
class ShutOut:
    """What came of it."""

    tokens: tuple[str, ...]
    """Public ids of the tokens that were good until now."""
    workers: tuple[str, ...]
    """Workers that have no good token any more."""
    attempts: tuple[AttemptKey, ...]
    """What they were working on; it was given back, so that others take it."""


async def withdraw_token(database: Database, token: str) -> ShutOut:
    """Revoke a token and all that were issued with it. Workers that are left without one lose their attempts.

    Raises Refused when there is no such token; a token that is revoked already is no fault.
    """
    async with database.transaction() as tx:
        if not await tx.fetch("token_by_id", token):
            raise Refused(f"There is no token {token!r}; `whilly admin token list --all` shows those that there are.")
        revoked, workers = await revoke(tx, token)
        alone = await _shut_out(tx, workers)
    return await _give_back(database, revoked, alone)


async def revoke_worker(database: Database, worker: str) -> ShutOut:
    """Revoke all tokens of a worker and give back what it works on. Raises UnknownWorker."""
    async with database.transaction() as tx:
        tokens = [row["id"] for row in await tx.fetch("tokens_of_worker", worker)]
        known = await tx.fetch("drain_worker", worker, True)
        if not tokens and not known:
            raise UnknownWorker(worker)
        revoked = [each for token in tokens for each in (await revoke(tx, token))[0]]
        alone = await _shut_out(tx, {worker})
    return await _give_back(database, revoked, alone)


async def _shut_out(tx: Transaction, workers: set[str]) -> list[str]:
    if not workers:
        return []
    alone = [row["id"] for row in await tx.fetch("workers_without_token", sorted(workers))]
    # From here on no claim is granted to them any more, so that what they hold can be listed.
    await tx.execute("shut_out_workers", alone)
    for worker in alone:
        tx.tell(EVERY_PLAN, None, "worker.revoked", {"plan_id": EVERY_PLAN, "worker_id": worker})
    return alone


async def _give_back(database: Database, revoked: list[str], workers: list[str]) -> ShutOut:
    returned = []
    for row in await database.fetch("attempts_held_by", workers) if workers else ():
        key = AttemptKey(row["plan_id"], row["task_id"], row["epoch"])
        try:
            await release_attempt(database, key, REVOKED)
        except WhillyError:
            # It ended in this very moment, and how it ended counts.
            continue
        returned.append(key)
    return ShutOut(tuple(revoked), tuple(workers), tuple(returned))
