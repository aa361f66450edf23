"""Let a person's browser in by a link that works once."""

import hashlib
import secrets
from datetime import timedelta

from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, mint
from whilly.store.database import Database

LINK_LIFETIME = timedelta(hours=1)
SESSION_LIFETIME = timedelta(hours=12)


async def issue_login(database: Database, lifetime: timedelta = LINK_LIFETIME) -> str:
    """The code of a new one-time link; it opens a session until it is used or too old."""
    code = secrets.token_urlsafe(32)
    await database.fetch("issue_login", _hash(code), lifetime)
    return code


async def use_login(database: Database, code: str, label: str = "browser") -> Issued | None:
    """A session's token for a code that is good, which it then no longer is; None for any other."""
    async with database.transaction() as tx:
        if not await tx.fetch("use_login", _hash(code)):
            return None
        return await mint(tx, TokenKind.SESSION, label=label, lifetime=SESSION_LIFETIME)


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
