"""Give somebody the right to speak to the control plane."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from whilly.core.tokens import SECRET_BYTES, TokenKind, digest, write_token
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN, Transaction


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token. The bearer is shown once: only its hash is kept."""

    id: str
    """Public; names the token when it is to be revoked."""
    bearer: str
    expires_at: datetime | None = None
    """None: it does not expire."""


async def issue_token(
    database: Database,
    kind: TokenKind,
    *,
    worker: str | None = None,
    plan: str | None = None,
    label: str = "",
    lifetime: timedelta | None = None,
    parent: str | None = None,
    uses: int | None = None,
) -> Issued:
    """Mint a token. `worker` is the identity of a worker's bearer, `plan` the only plan it may see; None: all.

    Only a bootstrap token counts its `uses`.
    """
    async with database.transaction() as tx:
        return await mint(tx, kind, worker=worker, plan=plan, label=label, lifetime=lifetime, parent=parent, uses=uses)


async def mint(
    tx: Transaction,
    kind: TokenKind,
    *,
    worker: str | None = None,
    plan: str | None = None,
    label: str = "",
    lifetime: timedelta | None = None,
    parent: str | None = None,
    uses: int | None = None,
) -> Issued:
    """Mint a token inside a transaction; it is revoked with its `parent`."""
    token, bearer = f"t-{secrets.token_hex(6)}", write_token(kind, secrets.token_bytes(SECRET_BYTES))
    (row,) = await tx.fetch(
        "issue_token", token, kind.value, digest(bearer), plan, worker, label, lifetime, parent, uses
    )
    payload = {"token_id": token, "kind": kind.value, "plan_id": plan, "worker_id": worker, "label": label}
    tx.tell(EVERY_PLAN, None, "token.issued", payload)
    return Issued(token, bearer, row["expires_at"])
