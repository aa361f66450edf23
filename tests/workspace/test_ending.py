"""On which commit the agent's files build, and what else has to be kept: decided from values alone."""

from hypothesis import given
from hypothesis import strategies as st

from whilly.workspace.ending import Ending, ending_of
from whilly.workspace.left_behind import LeftRefs

START, BRANCH = "start", "refs/heads/whilly/p/t"
KNOWN = {"refs/remotes/origin/main": "old", "refs/tags/v1": "old"}


def judged(new: dict[str, tuple[str, ...]], head: str, *, head_ref: str = BRANCH, **refs: str) -> Ending:
    named = {BRANCH: head if head_ref == BRANCH else START, **{name.replace("_", "/"): at for name, at in refs.items()}}
    return ending_of(LeftRefs(head_ref=head_ref, head=head, refs=named), new, start=START, branch=BRANCH, known=KNOWN)


def test_untouched() -> None:
    assert judged({}, START) == Ending(START)


def test_a_line_of_commits() -> None:
    assert judged({"a": (START,), "b": ("a",)}, "b") == Ending("b")


def test_a_merge_of_two_lines_of_its_own() -> None:
    assert judged({"a": (START,), "b": (START,), "m": ("a", "b")}, "m") == Ending("m")


def test_a_merge_with_something_of_the_users() -> None:
    assert judged({"m": (START, "old")}, "m") == Ending("m")


def test_what_is_not_on_the_way_is_a_tip() -> None:
    assert judged({"a": (START,), "s": (START,), "t": ("s",)}, "a") == Ending("a", tips=("t",))


def test_a_head_on_other_history_does_not_count() -> None:
    ending = judged({"x": ("old",)}, "x", head_ref="")
    assert (ending.parent, ending.tips) == (START, ("x",))
    assert "does not build on" in ending.violated


def test_the_tasks_branch_wins_over_where_head_went() -> None:
    ending = ending_of(
        LeftRefs(head_ref="", head=START, refs={BRANCH: "a"}), {"a": (START,)}, start=START, branch=BRANCH, known=KNOWN
    )
    assert ending == Ending(START, ahead="a")


def test_a_head_ahead_of_the_branch_is_the_result() -> None:
    ending = ending_of(
        LeftRefs(head="b", refs={BRANCH: "a"}), {"a": (START,), "b": ("a",)}, start=START, branch=BRANCH, known=KNOWN
    )
    assert ending == Ending("b")


def test_the_users_branches_are_known_by_both_names() -> None:
    new: dict[str, tuple[str, ...]] = {"a": (START,)}
    for name in ("refs_heads_main", "refs_remotes_origin_main", "refs_tags_v1"):
        assert "moved what is not the task's" in judged(new, "a", **{name: "a"}).violated
    assert judged(new, "a", refs_heads_main="old", refs_heads_own="a").violated == ""


def test_without_git_there_is_only_the_start() -> None:
    assert judged({}, START).violated == ""
    gone = ending_of(LeftRefs(gone="removed it"), {"a": (START,)}, start=START, branch=BRANCH, known=KNOWN)
    assert gone == Ending(START, tips=("a",), violated="The agent removed it.")


@given(
    edges=st.lists(st.tuples(st.integers(0, 15), st.integers(-2, 15)), max_size=30),
    head=st.integers(-2, 15),
    tip=st.integers(-2, 15),
)
def test_nothing_new_is_ever_out_of_reach(edges: list[tuple[int, int]], head: int, tip: int) -> None:
    """Whatever the history looks like, every new commit is reachable from what is kept."""
    name = {-2: "old", -1: START}
    new: dict[str, tuple[str, ...]] = {}
    for commit, parent in edges:
        if parent < commit:
            new[str(commit)] = (*new.get(str(commit), ()), name.get(parent, str(parent)))
    left = LeftRefs(head=name.get(head, str(head)), refs={BRANCH: name.get(tip, str(tip))})
    ending = ending_of(left, new, start=START, branch=BRANCH, known=KNOWN)
    reached: set[str] = set()
    waiting = [ending.parent, *ending.tips, *([ending.ahead] if ending.ahead else [])]
    while waiting:
        here = waiting.pop()
        if here not in reached:
            reached.add(here)
            waiting += new.get(here, ())
    assert reached >= new.keys()
