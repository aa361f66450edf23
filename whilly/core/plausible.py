"""Numbers of a report that can be believed and stored. Workers run on other machines, and may be wrong or lie."""

from dataclasses import replace

from whilly.core.evidence import MOST_TOKENS, CheckResult, Report, Usage
from whilly.core.money import LARGEST, Micros

_LARGEST_INTEGER = 2**31 - 1
_LARGEST_BIGINT = 2**63 - 1


def plausible(report: Report) -> Report:
    """The report with numbers that no attempt can have put right, so that they do not cost the work their report."""
    return replace(
        report,
        files_changed=_within(report.files_changed, _LARGEST_INTEGER),
        checks=tuple(map(_plausible_check, report.checks)),
        usage=plausible_usage(report.usage),
        exit_code=_exit_code(report.exit_code),
    )


def plausible_usage(usage: Usage) -> Usage:
    """A cost below nothing or beyond all measure is unknown, which is never counted as nothing."""
    return Usage(
        cost=_cost(usage.cost),
        input_tokens=_within(usage.input_tokens, MOST_TOKENS),
        output_tokens=_within(usage.output_tokens, MOST_TOKENS),
        cache_read_tokens=_within(usage.cache_read_tokens, MOST_TOKENS),
        cache_write_tokens=_within(usage.cache_write_tokens, MOST_TOKENS),
    )


def _plausible_check(result: CheckResult) -> CheckResult:
    return replace(
        result,
        exit_code=_exit_code(result.exit_code),
        duration_ms=_within(result.duration_ms, _LARGEST_BIGINT),
        output_bytes=_within(result.output_bytes, _LARGEST_BIGINT),
    )


def _cost(cost: Micros | None) -> Micros | None:
    return cost if cost is not None and 0 <= cost <= LARGEST else None


def _exit_code(code: int | None) -> int | None:
    """As 32 bits with a sign: Windows gives the same bits without one, 3221225477 for -1073741819."""
    return None if code is None else (code + 2**31) % 2**32 - 2**31


def _within(number: int, most: int) -> int:
    return min(max(number, 0), most)
