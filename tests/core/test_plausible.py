"""What a worker says in numbers can be stored, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.evidence import MOST_TOKENS, CheckResult, Report, Usage
from whilly.core.money import LARGEST
from whilly.core.outcome import Outcome
from whilly.core.plausible import plausible, plausible_usage

any_number = st.integers(-(10**40), 10**40)


@given(any_number, any_number, st.none() | any_number, any_number)
def test_any_report_fits_into_the_database(files: int, tokens: int, code: int | None, cost: int) -> None:
    check = CheckResult("unit", "run unit", True, True, code, "c", duration_ms=tokens, output_bytes=files)
    usage = Usage(cost, tokens, tokens, tokens, tokens)

    told = plausible(Report(Outcome.COMPLETED, files_changed=files, exit_code=code, usage=usage, checks=(check,)))

    assert 0 <= told.files_changed < 2**31
    assert told.exit_code is None or -(2**31) <= told.exit_code < 2**31
    assert told.usage.cost is None or 0 <= told.usage.cost <= LARGEST
    assert 0 <= told.usage.cache_write_tokens <= MOST_TOKENS
    assert 0 <= told.checks[0].duration_ms < 2**63
    assert 0 <= told.checks[0].output_bytes < 2**63


@given(st.integers(0, 10**6), st.integers(-255, 255), st.integers(0, LARGEST))
def test_what_an_attempt_can_have_stays(files: int, code: int, cost: int) -> None:
    check = CheckResult("unit", "run unit", True, False, code, "c", duration_ms=files, output_bytes=files)
    report = Report(Outcome.CHECKS_FAILED, files_changed=files, exit_code=code, usage=Usage(cost, 1), checks=(check,))

    assert plausible(report) == report


@pytest.mark.parametrize("cost", [-1, LARGEST + 1, 10**30])
def test_an_impossible_cost_is_unknown_and_not_nothing(cost: int) -> None:
    assert plausible_usage(Usage(cost)).cost is None


def test_an_exit_code_of_windows_keeps_its_bits() -> None:
    assert plausible(Report(Outcome.AGENT_FAILED, exit_code=0xC0000005)).exit_code == -1073741819
