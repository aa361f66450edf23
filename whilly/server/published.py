"""The name under which a tunnel's keeper has published this control plane: it changes, so it cannot be configured."""

import time
from urllib.parse import urlsplit

from whilly.store.database import AWAY, Database

LOOK_EVERY = 2.0
"""Seconds; strangers' names cost one query in that time, however many there are."""


class PublishedName:
    """Looked up only when somebody asks for a name that is not known."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._looked_at = float("-inf")
        self._name = ""

    async def is_it(self, name: str) -> bool:
        """Whether this is the published name."""
        now = time.monotonic()
        if name != self._name and now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            try:
                rows = await self._database.fetch("published_address")
            except AWAY:
                return False
            self._name = (urlsplit(rows[0]["url"]).hostname or "") if rows else ""
        return bool(name) and name == self._name
