"""What tokens cost, to estimate a run's spending while it runs. Its end brings the program's own account.

The list prices that Claude Code 2.1.332 reckons with, read off its own accounts on 2026-11-30.
"""

from dataclasses import dataclass

from whilly.core.money import Micros


@dataclass(frozen=True, slots=True)
class Price:
    """Nano-dollars for one token (a thousandth of dollars for a million): $4 for a million tokens is 4000."""

    fresh: int
    output: int
    cache_read: int

    @property
    def cache_write(self) -> int:
        """Of a cache entry that lives for five minutes."""
        return self.fresh * 5 // 4

    @property
    def cache_write_hour(self) -> int:
        """Of a cache entry that lives for an hour."""
        return self.fresh * 2


PRICES = {
    "claude-haiku-4-5": Price(1000, 5000, 100),
    "claude-haiku-5-5": Price(100, 500, 10),
    "claude-sonnet-4": Price(3000, 15000, 300),
    "claude-sonnet-5": Price(2000, 10000, 200),
    "claude-sonnet-5-5": Price(2000, 10000, 100),
    "claude-opus-4": Price(5000, 25000, 500),
    "claude-opus-5": Price(5000, 25000, 500),
    "claude-opus-5-5": Price(4000, 20000, 200),
    "claude-fable-5": Price(10000, 50000, 1000),
    "claude-fable-5-1": Price(10000, 50000, 250),
    "claude-fable-5-2": Price(8000, 40000, 200),
    "claude-mythos-5": Price(10000, 50000, 1000),
    "claude-mythos-5-1": Price(10000, 50000, 1000),
    "claude-mythos-5-2": Price(8000, 40000, 200),
}
"""By the beginning of the model's name; the longest that fits counts."""

LONG_PROMPTS = {"claude-haiku-5-5": (100_000, Price(500, 2500, 50))}
"""Above so many prompt tokens another price holds for the whole request."""

DEAREST = Price(10000, 50000, 1000)
"""For models that the table does not know: an estimate that stops too late is worse than one that stops too early."""


@dataclass(slots=True)
class Tokens:
    """What one request consumed, as far as it is known."""

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_hour: int = 0
    """Part of `cache_write`."""
    output: int = 0


def cost(model: str, tokens: Tokens) -> Micros:
    """The estimate for one request, rounded up."""
    price = _price(model, tokens.fresh + tokens.cache_read + tokens.cache_write)
    short_lived = max(0, tokens.cache_write - tokens.cache_write_hour)
    nanos = (
        tokens.fresh * price.fresh
        + tokens.cache_read * price.cache_read
        + short_lived * price.cache_write
        + tokens.cache_write_hour * price.cache_write_hour
        + tokens.output * price.output
    )
    return -(-nanos // 1000)


def _price(model: str, prompt: int) -> Price:
    # Other clouds put something before the name, and variants something behind: `eu.anthropic.claude-…-v1`, `…[1m]`.
    name = model[model.find("claude-") :] if "claude-" in model else model
    known = max((key for key in PRICES if name.startswith(key)), key=len, default="")
    if not known:
        return DEAREST
    above, dearer = LONG_PROMPTS.get(known, (prompt, PRICES[known]))
    return dearer if prompt > above else PRICES[known]
