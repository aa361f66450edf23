"""What one run may spend."""

from hypothesis import given
from hypothesis import strategies as st

from whilly.core.assignment import AttemptKey
from whilly.core.budget import DEFAULT_ESTIMATE
from whilly.core.money import from_usd
from whilly.worker.allowance import Allowance
from whilly.worker.halt import Cause, Halt

ONE, TWO = AttemptKey("p", "A", 1), AttemptKey("p", "B", 1)


def test_the_agents_of_a_run_are_halted_together() -> None:
    said: list[str] = []
    ends: list[None] = []
    allowance = Allowance(from_usd("1"), warn=said.append, used_up=lambda: ends.append(None))
    first, second, third = Halt(), Halt(), Halt()
    with allowance.covering(ONE, first):
        with allowance.covering(TWO, second):
            allowance.used(ONE, from_usd("0.40"))
            allowance.used(TWO, from_usd("0.30"))
            assert said == []
            allowance.used(ONE, from_usd("0.50"))
            assert said == ["$0.80 of the $1.00 that WHILLY_BUDGET_USD allows this run are spent."]
            allowance.used(ONE, from_usd("0.60"))
            assert not first.is_set()
        allowance.ended(TWO, from_usd("0.40"))
        assert (first.cause, second.cause) == (Cause.RUN_BUDGET, None)
        allowance.used(ONE, from_usd("0.70"))
    with allowance.covering(AttemptKey("p", "C", 1), third):
        assert third.cause is Cause.RUN_BUDGET

    assert len(said) == 1
    assert len(ends) == 1
    assert allowance.exhausted
    assert (
        first.reason
        == "Stopped: $1.00 of the $1.00 that WHILLY_BUDGET_USD allows this run are spent. What it did is kept."
    )


def test_what_an_agent_does_not_say_counts_as_the_estimate() -> None:
    allowance = Allowance(from_usd("9"))
    allowance.used(ONE, None)
    assert allowance.spent == 0
    allowance.ended(ONE, None)
    assert allowance.spent == DEFAULT_ESTIMATE


def test_a_second_attempt_of_a_task_is_added() -> None:
    allowance = Allowance(from_usd("9"))
    allowance.ended(ONE, 5)
    allowance.ended(AttemptKey("p", "A", 2), 5)
    assert allowance.spent == 10


def test_without_a_cap_nothing_is_halted() -> None:
    allowance, halt = Allowance(), Halt()
    with allowance.covering(ONE, halt):
        allowance.used(ONE, from_usd("1000000"))
    assert not halt.is_set()


@given(
    st.integers(1, 10_000),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 500), st.booleans()), max_size=60),
)
def test_no_order_of_reports_exceeds_the_cap_by_more_than_what_is_in_flight(
    cap: int, reports: list[tuple[int, int, bool]]
) -> None:
    """Four agents; each report adds to one of them, and what is reported after a halt was in flight."""
    ended: list[int] = []
    allowance = Allowance(cap, used_up=lambda: ended.append(1))
    halts = {number: Halt() for number in range(4)}
    costs = dict.fromkeys(halts, 0)
    keys = {number: AttemptKey("p", f"T{number}", 1) for number in halts}
    stack = [allowance.covering(keys[number], halts[number]) for number in halts]
    for cover in stack:
        cover.__enter__()
    for number, more, known in reports:
        if halts[number].is_set():
            continue
        costs[number] += more
        allowance.used(keys[number], costs[number] if known else None)
        spent = sum(costs.values())
        if all(known for _, _, known in reports):
            assert allowance.spent == spent
            assert allowance.exhausted is (spent >= cap > 0 and spent > 0)
            assert spent - more < cap
    for cover in stack:
        cover.__exit__(None, None, None)
    assert len(ended) == allowance.exhausted
    assert all(halt.is_set() is allowance.exhausted for halt in halts.values())


def test_a_halt_for_money_is_forgiven_and_no_other() -> None:
    for cause in Cause:
        halt = Halt()
        halt.because(cause, "Because.")
        halt.forgive_money()
        assert halt.is_set() is (cause not in (Cause.OVER_BUDGET, Cause.RUN_BUDGET))
