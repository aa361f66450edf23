"""The log of events as a file, for those who name a folder for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.server.loops.mirror import Mirror
    from whilly.store.database import Database


def mirror_of(settings: Settings, database: "Database", tell: Callable[[str], None]) -> "Mirror | None":
    """What keeps `whilly_events.jsonl` in WHILLY_LOG_DIR up to date; None without that folder.

    `tell` takes a sentence when the disk does not, and when it does again.
    """
    if settings.log_dir is None:
        return None
    from whilly.server.loops.mirror import Mirror

    return Mirror(database, settings.log_dir, tell)
