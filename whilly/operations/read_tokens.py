"""Which tokens there are. Nobody can read the bearers: they are not kept."""

from dataclasses import dataclass
from datetime import datetime

from whilly.core.tokens import TokenKind
from whilly.store.database import Database


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as others may see it."""

    id: str
    kind: TokenKind
    label: str
    """Whose it is."""
    plan: str | None
    worker: str | None
    parent: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    uses: int
    uses_allowed: int | None
    good: bool
    """It opens something."""


async def list_tokens(
    database: Database, kind: TokenKind | None = None, *, ended: bool = False, limit: int = 1_000
) -> list[TokenView]:
    """Tokens, newest first; those that open nothing any more only when `ended` ones are asked for."""
    rows = await database.fetch("list_tokens", None if kind is None else kind.value, ended, limit)
    return [
        TokenView(
            id=row["id"],
            kind=TokenKind(row["kind"]),
            label=row["label"],
            plan=row["plan_id"],
            worker=row["worker_id"],
            parent=row["parent"],
            created_at=row["created_at"],
            expires_at=row["expires_at"],
            revoked_at=row["revoked_at"],
            last_used_at=row["last_used_at"],
            uses=row["uses"],
            uses_allowed=row["uses_allowed"],
            good=row["good"],
        )
        for row in rows
    ]
