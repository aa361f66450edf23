"""The estimate agrees with the accounts that the real program gave."""

import pytest

from whilly.agents.claude_prices import Tokens, cost


@pytest.mark.parametrize(
    ("model", "tokens", "micros"),
    [
        ("claude-opus-5-5", Tokens(2000, 6000, 400, 0, 100), 13200),
        ("claude-sonnet-5-5", Tokens(2000, 6000, 400, 0, 100), 6600),
        ("claude-opus-4-8[1m]", Tokens(2000, 6000, 400, 0, 100), 18000),
        ("claude-sonnet-5-5", Tokens(1000, 1000, 1000, 0, 1000), 14600),
        ("claude-fable-5-1", Tokens(1000, 1000, 1000, 0, 1000), 72750),
        ("claude-fable-5-2", Tokens(1000, 1000, 1000, 0, 1000), 58200),
        ("claude-haiku-5-5", Tokens(100_000, 0, 0, 0, 100_000), 60_000),
        ("claude-haiku-5-5", Tokens(200_000, 0, 0, 0, 100_000), 350_000),
        ("claude-haiku-5-5", Tokens(0, 0, 210_000, 0, 100_000), 381_250),
        ("claude-haiku-4-5-20251001", Tokens(1_000_000), 1_000_000),
        ("eu.anthropic.claude-sonnet-4-6-v1:0", Tokens(0, 0, 0, 0, 1_000_000), 15_000_000),
        ("claude-opus-5-5", Tokens(0, 0, 1_000_000, 1_000_000), 8_000_000),
        ("no-such-model", Tokens(1), 10),
        ("", Tokens(), 0),
        ("claude-opus-5-5", Tokens(0, 1), 1),
    ],
)
def test_costs(model: str, tokens: Tokens, micros: int) -> None:
    assert cost(model, tokens) == micros
