"""A new bearer in place of one that has been in use for long, or was seen by somebody."""

from datetime import timedelta

from whilly.core.errors import Refused
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, mint
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN

GRACE = timedelta(minutes=10)
"""How long the old bearer still opens things, so that nobody is cut off between two requests."""

ROTATABLE = (TokenKind.WORKER, TokenKind.OPERATOR, TokenKind.METRICS)


async def rotate_token(database: Database, token: str, grace: timedelta = GRACE) -> Issued:
    """A token that opens the same for as long as the old one did at first; the old one ends after `grace`.

    Revoking the old one revokes the new one. Raises Refused for a token that is unknown, ended, or of a kind that is
    made anew instead.
    """
    async with database.transaction() as tx:
        rows = await tx.fetch("token_to_rotate", token)
        if not rows:
            raise Refused(f"There is no token {token!r} that is still good, so there is nothing to rotate.")
        row = rows[0]
        kind = TokenKind(row["kind"])
        if kind not in ROTATABLE:
            raise Refused(f"A token of kind {kind.value} is not rotated: make a new one and revoke this.")
        issued = await mint(
            tx,
            kind,
            worker=row["worker_id"],
            plan=row["plan_id"],
            label=row["label"],
            lifetime=row["lifetime"],
            parent=token,
        )
        await tx.execute("end_token_soon", token, grace)
        tx.tell(EVERY_PLAN, None, "token.rotated", {"token_id": token, "successor": issued.id})
    return issued
