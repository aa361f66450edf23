"""Find out who speaks."""

import hmac
from collections.abc import Collection
from dataclasses import dataclass

from whilly.core.tokens import TokenKind, digest, kind_of
from whilly.store.database import Database


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a good token."""

    kind: TokenKind
    token: str
    """The token's public id."""
    name: str
    """The worker's identity, or whatever the token was labelled with."""
    plan: str | None = None
    """The only plan it may see and touch; None: all."""


async def check_token(database: Database, bearer: str) -> Caller | None:
    """The holder of the token; None when it is malformed (no query), unknown, revoked or expired."""
    kind = kind_of(bearer)
    if kind is None:
        return None
    hashed = digest(bearer)
    rows = await database.fetch("token_by_hash", hashed)
    if not rows or not hmac.compare_digest(rows[0]["hash"], hashed) or rows[0]["kind"] != kind.value:
        return None
    row = rows[0]
    if row["stale"]:
        await database.fetch("note_token_use", row["id"])
    return Caller(kind, row["id"], row["worker_id"] or row["label"] or row["id"], row["plan_id"])


async def tokens_ended(database: Database, hashes: Collection[bytes]) -> set[bytes]:
    """Which of the tokens with these hashes, good before, are good no longer: one statement for all of them."""
    return {row["hash"] for row in await database.fetch("tokens_ended", list(hashes))}
