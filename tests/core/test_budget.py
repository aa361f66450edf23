"""Money, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core import budget
from whilly.core.money import from_usd, shown, to_usd

amounts = st.integers(0, 10**12)


@pytest.mark.parametrize(
    ("text", "micros"), [("0.1", 100_000), (0.1, 100_000), ("1e-6", 1), (2, 2_000_000), ("0.0000005", 1), ("0", 0)]
)
def test_dollars_become_micro_dollars(text: str | float, micros: int) -> None:
    assert from_usd(text) == micros


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e18", "five", "", True])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"amount|budget"):
        from_usd(text)


@pytest.mark.parametrize(
    ("micros", "text"),
    [(None, "unknown"), (0, "$0.00"), (4_200, "$0.0042"), (1_200_000, "$1.20"), (999_999, "$1.0000")],
)
def test_amounts_are_shown(micros: int | None, text: str) -> None:
    assert shown(micros) == text


@given(amounts)
def test_no_micro_dollar_is_lost(micros: int) -> None:
    assert from_usd(to_usd(micros)) == micros


@given(amounts, st.lists(st.none() | amounts, max_size=30))
def test_reservations_never_exceed_the_budget(total: int, caps: list[int | None]) -> None:
    reserved = 0
    for cap in caps:
        granted = budget.reservation(budget.available(total, 0, reserved), cap, 0)
        reserved += granted or 0
    assert reserved <= total


@given(amounts, amounts, amounts, st.none() | amounts)
def test_a_raise_stays_within_what_is_left(reserved: int, used: int, left: int, task_left: int | None) -> None:
    more = budget.top_up(reserved, used, left, task_left)
    assert 0 <= more <= left
    assert task_left is None or more == 0 or reserved + more <= task_left
