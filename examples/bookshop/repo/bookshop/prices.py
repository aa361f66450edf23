"""Prices in whole cents, so that sums are exact."""


def shown(cents: int) -> str:
    """A price for people: `12.50`."""
    return f"{cents // 100}.{cents % 100}"
