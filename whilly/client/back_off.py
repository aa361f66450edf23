"""How long to wait before asking again."""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackOff:
    """Doubling waits with full jitter: many workers that lost the same server do not come back in step."""

    first_seconds: float = 0.1
    longest_seconds: float = 5.0
    draw: Callable[[], float] = random.random
    """A number in [0, 1); replaced where a test needs to know it."""

    def seconds(self, failures: int) -> float:
        """The wait after so many failures in a row, at least one."""
        return self.draw() * min(self.longest_seconds, self.first_seconds * 2.0 ** min(failures - 1, 30))
