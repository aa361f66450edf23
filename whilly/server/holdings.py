"""How many tasks each worker holds, so that one that was taken over by somebody cannot take a whole plan hostage."""

import time
from collections.abc import Callable

from whilly.core.assignment import AttemptKey

MOST_HELD = 128
"""Twice the slots that a worker may have. Counted by each server for itself, without asking the database."""


class Holdings:
    """What workers got and go on with. An attempt without a sign of life for a lease's time no longer counts."""

    def __init__(self, lease: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease = lease
        self._clock = clock
        self._held: dict[str, dict[AttemptKey, float]] = {}

    def take(self, worker: str, key: AttemptKey) -> bool:
        """One more, or a sign of life of one; False when that would be more than MOST_HELD."""
        held = self._held.setdefault(worker, {})
        if key not in held and len(held) >= MOST_HELD:
            now = self._clock()
            for each in [each for each, until in held.items() if until < now]:
                del held[each]
            if len(held) >= MOST_HELD:
                return False
        held[key] = self._clock() + self._lease
        return True

    def end(self, worker: str, key: AttemptKey) -> None:
        """The attempt is over."""
        held = self._held.get(worker)
        if held is not None:
            held.pop(key, None)
            if not held:
                del self._held[worker]
