"""Secrets of the control plane itself: made once for each database, and shared by all servers on it."""

import secrets

from whilly.store.database import Database

KEY_BYTES = 32
"""An Ed25519 key, or a key of HMAC-SHA-256."""

CLAIMS = "claims"
"""With which the tokens of attempts are written."""

IDENTITY = "identity"
"""With which the control plane proves who it is."""


async def own_key(database: Database, name: str) -> bytes:
    """The secret of that name; made when there is none yet."""
    while True:
        rows = await database.fetch("own_key", name, secrets.token_bytes(KEY_BYTES))
        if rows:
            return bytes(rows[0]["secret"])
