"""Each bench runs, with sizes so small that its figures mean nothing. Nobody is told here how fast anything must be."""

import importlib

import pytest

from bench.__main__ import BENCHES
from bench.series import Series, number, percentile
from bench.sizes import QUICK
from bench.table import Bar, Figure, Table


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHES)
async def test_bench_runs(name: str) -> None:
    table = await importlib.import_module(f"bench.{name}").measure(QUICK)

    assert table.title.startswith(name)
    assert all(figure.ours.values for figure in table.figures)
    assert any(figure.bar for figure in table.figures) or name == "imports"


def test_a_series_is_told_by_its_median_and_range() -> None:
    assert str(Series((3.0, 1.0, 2.0))) == "2.00 (1.00–3.00)"
    assert str(Series((1234.5,))) == "1,234"
    assert str(Series((4.0, 9.0)).against(Series((2.0, 3.0)))) == "2.50 (2.00–3.00)"
    assert number(12.34) == "12.3"
    assert percentile([1, 2, 3, 4], 0.95) == 4


@pytest.mark.parametrize(
    ("bar", "said"),
    [
        (Bar(at_least=700), "≥ 700: met"),
        (Bar(at_most=700), "≤ 700: NOT MET"),
        (Bar(at_most=1.15, ratio=True), "ratio ≤ 1.15: met"),
        (Bar(at_least=1.15, ratio=True), "ratio ≥ 1.15: NOT MET"),
    ],
)
def test_a_bar_is_judged_by_the_median(bar: Bar, said: str) -> None:
    ours, theirs = Series((900.0, 800.0, 10.0)), Series((800.0, 800.0, 800.0))
    assert bar.judge(ours, ours.against(theirs)) == said


def test_a_table_lines_up() -> None:
    table = Table("t", (Figure("speed", Series((2.0,)), None, "rival", Series((4.0,)), "1 ms"),), ("A note.",))
    lines = str(table).splitlines()

    assert lines[4] == "| speed  | 2.00   | rival: 4.00 | 0.50  |     | 1 ms              |"
    assert {len(line) for line in lines[2:5]} == {len(lines[2])}
    assert lines[-1] == "A note."
