"""How much of something each caller may have: a stock that fills up again with time."""

import math
import time
from collections.abc import Callable

REMEMBERED = 10_000
"""Callers of whom it is known what they took."""


class Allowance:
    """Each caller may take `stock` at once, and `per_second` from then on."""

    def __init__(self, stock: float, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stock = stock
        self._per_second = per_second
        self._clock = clock
        self._owed: dict[str, tuple[float, float]] = {}
        """By caller: what it has taken and not got back, and when that was so."""

    def take(self, caller: str, amount: float = 1) -> float:
        """0 when it was there and is taken; else nothing is taken, and this is how many seconds to wait for it.

        More than the whole stock is given to whoever has taken nothing lately.
        """
        now, owed = self._clock(), self._owes(caller)
        if owed and owed + amount > self._stock:
            return (owed + min(amount, self._stock) - self._stock) / self._per_second
        if caller not in self._owed and len(self._owed) >= REMEMBERED:
            self._forget_some()
        self._owed[caller] = owed + amount, now
        return 0

    def used_up(self, caller: str) -> bool:
        """Whether not even one more is there."""
        return self._owes(caller) + 1 > self._stock

    def _owes(self, caller: str) -> float:
        found = self._owed.get(caller)
        if found is None:
            return 0
        owed, since = found
        return max(0.0, owed - (self._clock() - since) * self._per_second)

    def _forget_some(self) -> None:
        """Those who owe nothing any more, or else those who owe least: half of them."""
        by_debt = sorted(self._owed, key=self._owes)
        for caller in by_debt[: len(by_debt) // 2]:
            del self._owed[caller]


def retry_after(seconds: float) -> dict[str, str]:
    """The header that asks a client to wait so long."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
