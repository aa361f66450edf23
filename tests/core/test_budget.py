"""Money, exactly."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core import budget
from whilly.core.budget import Purse
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


@given(amounts, st.none() | amounts, st.lists(st.none() | amounts, max_size=30))
def test_reservations_never_exceed_the_budget(total: int, daily: int | None, caps: list[int | None]) -> None:
    purse = Purse(total, 0, 0, daily)
    for cap in caps:
        granted = budget.reservation(purse.left, cap, 0) or 0
        purse = replace(purse, reserved=purse.reserved + granted)
    assert purse.reserved <= total
    assert daily is None or purse.reserved <= daily


@given(st.none() | amounts, st.none() | amounts, amounts, amounts, amounts)
def test_what_is_left_and_what_is_overdrawn_fit_together(
    total: int | None, daily: int | None, spent: int, today: int, reserved: int
) -> None:
    purse = Purse(total, spent, reserved, daily, today)
    if not purse.limited:
        assert purse.left is None
        assert purse.overdrawn == 0
    elif purse.left:
        assert purse.overdrawn == -purse.left
    else:
        assert purse.left == 0
        assert purse.overdrawn >= 0


@given(st.none() | amounts, st.lists(st.integers(0, 10**9), max_size=30))
def test_each_share_is_reached_once_however_the_bills_come(total: int | None, bills: list[int]) -> None:
    spent, told = 0, []
    for bill in bills:
        told += sorted(budget.reached(total, spent + bill) - budget.reached(total, spent))
        spent += bill
    expected = [
        share for share in (80, 100) if total is not None and spent and Decimal(spent) >= Decimal(total) * share / 100
    ]
    assert told == expected


@pytest.mark.parametrize(
    ("total", "spent", "shares"),
    [(100, 79, set()), (100, 80, {80}), (100, 99, {80}), (100, 100, {80, 100}), (0, 0, set()), (0, 1, {80, 100})],
)
def test_shares_of_a_budget(total: int, spent: int, shares: set[int]) -> None:
    assert budget.reached(total, spent) == shares


@given(amounts, amounts, amounts, st.none() | amounts)
def test_a_raise_stays_within_what_is_left(reserved: int, used: int, left: int, task_left: int | None) -> None:
    more = budget.top_up(reserved, used, left, task_left)
    assert 0 <= more <= left
    assert task_left is None or more == 0 or reserved + more <= task_left
