"""Let a person's browser in by a link that works once."""

import hashlib
import re
import secrets
from datetime import timedelta

from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, mint
from whilly.store.database import Database

LINK_LIFETIME = timedelta(hours=1)
SESSION_LIFETIME = timedelta(hours=12)


_FORM = re.compile(r"[A-Za-z0-9_-]{43}(?:\.([A-Za-z0-9-]{1,64}))?")


async def issue_login(
    database: Database, person: str, lifetime: timedelta = LINK_LIFETIME, *, parent: str | None = None
) -> str:
    """The code of a new one-time link. Until it is used or too old it opens a session in which `person` acts.

    The session ends with the token `parent` (its public id), and so does the link.
    """
    # What follows the dot is as good as stored, for the hash covers it.
    code = secrets.token_urlsafe(32) + (f".{parent}" if parent else "")
    await database.fetch("issue_login", _hash(code), lifetime, person)
    return code


async def use_login(database: Database, code: str) -> Issued | None:
    """A session's token for a code that is good, which it then no longer is; None for any other.

    Garbage costs no query.
    """
    form = _FORM.fullmatch(code)
    if form is None:
        return None
    async with database.transaction() as tx:
        rows = await tx.fetch("use_login", _hash(code))
        if not rows or (form[1] and not await tx.fetch("token_stands", form[1])):
            return None
        return await mint(
            tx, TokenKind.SESSION, label=rows[0]["label"], lifetime=SESSION_LIFETIME, parent=form[1] or None
        )


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
