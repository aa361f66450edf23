"""Money as integer micro-dollars, so that sums are exact."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TypeAlias

Micros: TypeAlias = int
"""One millionth of a US dollar."""

MICROS_PER_USD = 1_000_000
LARGEST = 1_000_000_000 * MICROS_PER_USD
"""A billion dollars: above it a number is a mistake, and bigint sums stay far from overflow."""


def from_usd(amount: str | float | int | Decimal) -> Micros:
    """Dollars to micro-dollars, rounded half up. Raises ValueError unless finite, not negative and at most LARGEST."""
    try:
        exact = Decimal(str(amount))
    except InvalidOperation:
        raise ValueError(f"{amount!r} is not an amount of dollars") from None
    if not exact.is_finite() or exact < 0:
        raise ValueError(f"{amount!r} is not an amount of dollars that can be spent")
    if exact > LARGEST // MICROS_PER_USD:
        raise ValueError(f"{amount!r} is more than a budget can hold")
    return int((exact * MICROS_PER_USD).to_integral_value(rounding=ROUND_HALF_UP))


def to_usd(amount: Micros) -> Decimal:
    """Micro-dollars as exact dollars."""
    return Decimal(amount) / MICROS_PER_USD


def shown(amount: Micros | None) -> str:
    """For people: `$1.20`, `$0.0042` when cents would hide it, `unknown` for None."""
    if amount is None:
        return "unknown"
    if amount % 10_000 and abs(amount) < MICROS_PER_USD:
        return f"${to_usd(amount):.4f}"
    return f"${to_usd(amount):.2f}"
