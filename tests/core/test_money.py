import pytest

from whilly.core.money import LARGEST, from_usd, shown


@pytest.mark.parametrize(
    ("dollars", "micros"),
    [("0.10", 100_000), (0.1, 100_000), (5, 5_000_000), ("1e9", LARGEST), ("0.0000005", 1), ("1e-999999", 0)],
)
def test_dollars_become_whole_micros(dollars: str | float, micros: int) -> None:
    assert from_usd(dollars) == micros


@pytest.mark.parametrize("dollars", ["", "x", "NaN", "-1", "Infinity", "1000000000.000001", "1e999999", float("inf")])
def test_what_cannot_be_spent_is_refused(dollars: str | float) -> None:
    with pytest.raises(ValueError, match="is "):
        from_usd(dollars)


@pytest.mark.parametrize(
    ("micros", "text"), [(None, "unknown"), (0, "$0.00"), (1_200_000, "$1.20"), (4_200, "$0.0042"), (10_000, "$0.01")]
)
def test_money_is_shown_as_people_write_it(micros: int | None, text: str) -> None:
    assert shown(micros) == text
