"""When a limit ends, in the words of providers."""

from datetime import UTC, datetime

import pytest

from whilly.agents.reset_time import seconds_until_reset

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
HOUR = 3600


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("You've hit your limit · resets at 4am (Asia/Tbilisi)", 4 * HOUR + 60),
        ("You've hit your 5-hour limit · resets 9pm (UTC)", HOUR + 60),
        ("You've hit your 5-hour limit · resets 9:30pm", HOUR + 1800 + 60),
        ("resets 19:59 (UTC)", 24 * HOUR),
        ("resets 12am (UTC)", 4 * HOUR + 60),
        ("You've hit your weekly limit · resets Dec 2, 8pm (UTC)", 48 * HOUR + 60),
        ("resets Jan 1, 12am (UTC)", 31 * 24 * HOUR + 4 * HOUR + 60),
        ("resets Jan 1, 2030, 12am (UTC)", 1127 * 24 * HOUR + 4 * HOUR + 60),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", 4 * HOUR + 60),
        ("Claude AI usage limit reached|1796076000", 2 * HOUR + 60),
        ("resets 9pm (Middle/Earth)", HOUR + 60),
        ("resets Nov 30, 7pm (UTC)", 60),
    ],
)
def test_known_sentences(text: str, seconds: int) -> None:
    assert seconds_until_reset(text, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "Credit balance is too low", "resets soon", "resets Feb 31, 4pm", "resets 99am", "on 2026-13-77 at 10:00"],
)
def test_no_time_in_the_sentence(text: str) -> None:
    assert seconds_until_reset(text, NOW) is None
