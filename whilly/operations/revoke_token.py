"""Take the right to speak back."""

from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN


async def revoke_token(database: Database, token: str) -> list[str]:
    """Revoke a token by its public id, and with it those that were issued with it; gives the ids of all of them.

    Nothing is given back for a token that is unknown or already revoked.
    """
    async with database.transaction() as tx:
        revoked = [row["id"] for row in await tx.fetch("revoke_token", token)]
        for each in revoked:
            tx.tell(EVERY_PLAN, None, "token.revoked", {"token_id": each})
    return revoked
