"""Files that two tasks both name, or that lie in a folder that the other names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.key_files import overlap

paths = st.lists(st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3).map("/".join), max_size=3)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (["a.py"], ["a.py"], True),
        (["src"], ["src/a.py"], True),
        (["src/deep/a.py"], ["src"], True),
        (["src"], ["srcs/a.py"], False),
        (["src/a.py"], ["src/b.py"], False),
        ([], ["a.py"], False),
    ],
)
def test_paths_meet_in_a_file_or_in_a_folder(one: list[str], other: list[str], meet: bool) -> None:
    assert overlap(one, other) is meet


@given(paths, paths)
def test_it_says_what_comparing_each_pair_says(one: list[str], other: list[str]) -> None:
    pairs = [(a, b) for a in one for b in other]
    assert overlap(one, other) == any(a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/") for a, b in pairs)
    assert overlap(one, other) == overlap(other, one)
