"""Take the right to speak back."""

from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN, Transaction


async def revoke_token(database: Database, token: str) -> list[str]:
    """Revoke a token by its public id, and with it those that were issued with it; gives the ids of all of them.

    Nothing is given back for a token that is unknown or already revoked.
    """
    async with database.transaction() as tx:
        revoked, _ = await revoke(tx, token)
    return revoked


async def revoke(tx: Transaction, token: str) -> tuple[list[str], set[str]]:
    """The same inside a transaction; gives also the workers that the tokens stood for."""
    rows = await tx.fetch("revoke_token", token)
    for row in rows:
        tx.tell(EVERY_PLAN, None, "token.revoked", {"token_id": row["id"]})
    return [row["id"] for row in rows], {row["worker_id"] for row in rows if row["worker_id"]}
