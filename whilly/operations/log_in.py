"""Let a person's browser in by a link that works once."""

import hashlib
import secrets
from datetime import timedelta

from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, mint
from whilly.store.database import Database

LINK_LIFETIME = timedelta(hours=1)
SESSION_LIFETIME = timedelta(hours=12)


async def issue_login(database: Database, person: str, lifetime: timedelta = LINK_LIFETIME) -> str:
    """The code of a new one-time link. Until it is used or too old it opens a session in which `person` acts."""
    code = secrets.token_urlsafe(32)
    await database.fetch("issue_login", _hash(code), lifetime, person)
    return code


async def use_login(database: Database, code: str) -> Issued | None:
    """A session's token for a code that is good, which it then no longer is; None for any other."""
    async with database.transaction() as tx:
        rows = await tx.fetch("use_login", _hash(code))
        if not rows:
            return None
        return await mint(tx, TokenKind.SESSION, label=rows[0]["label"], lifetime=SESSION_LIFETIME)


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
