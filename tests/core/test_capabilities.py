"""What is enough, and what is missing."""

import pytest

from whilly.core.capabilities import RUNGS, Offer, Wants, rung, serves, what_nobody_has

PLAIN = Offer(("claude",), (), "clone")


@pytest.mark.parametrize(
    ("offer", "wants", "enough"),
    [
        (PLAIN, Wants(), True),
        (PLAIN, Wants("claude"), True),
        (PLAIN, Wants("codex"), False),
        (PLAIN, Wants(tags=("gpu",)), False),
        (Offer(("claude",), ("gpu", "arm")), Wants(tags=("gpu",)), True),
        (Offer(("claude",), ("gpu",)), Wants(tags=("gpu", "arm")), False),
        (PLAIN, Wants(isolation="clone"), True),
        (PLAIN, Wants(isolation="bwrap"), False),
        (Offer(isolation="container"), Wants(isolation="bwrap"), True),
        (Offer(isolation="unheard-of"), Wants(isolation="clone"), False),
    ],
)
def test_a_worker_serves_a_task_when_it_has_all_that_is_wanted(offer: Offer, wants: Wants, enough: bool) -> None:
    assert serves(offer, wants) is enough
    assert (what_nobody_has(wants, [offer]) == "") is enough


def test_the_ladder_goes_up() -> None:
    assert [rung(name) for name in RUNGS] == [0, 1, 2, 3]


def test_what_each_worker_lacks_differently_is_told_as_a_whole() -> None:
    offers = [Offer(("claude",), ("gpu",)), Offer(("codex",), ())]
    assert what_nobody_has(Wants("codex", ("gpu",)), offers) == "agent codex and tag gpu at once"


def test_what_no_worker_has_is_told_part_by_part() -> None:
    told = what_nobody_has(Wants("codex", ("gpu", "arm"), "container"), [Offer(("claude",), ("arm",), "bwrap")])
    assert told == "agent codex, tag gpu and isolation container"
