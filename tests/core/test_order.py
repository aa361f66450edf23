from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from whilly.core.graph import layers
from whilly.core.order import unordered


def ancestors(graph: dict[str, list[str]], task: str) -> set[str]:
    found: set[str] = set()
    todo = list(graph[task])
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += graph[one]
    return found


@st.composite
def graphs_and_groups(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    names = [f"T{number}" for number in range(draw(st.integers(1, 12)))]
    graph = {
        name: draw(st.lists(st.sampled_from(names[:number]), max_size=4)) if number else []
        for number, name in enumerate(names)
    }
    shuffled = draw(st.permutations(names))
    groups = draw(st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from(names), min_size=1, max_size=8)))
    return {name: graph[name] for name in shuffled}, groups


@given(graphs_and_groups(), st.integers(1, 5))
def test_the_bits_find_what_comparing_all_pairs_finds(
    case: tuple[dict[str, list[str]], dict[str, list[str]]], block: int
) -> None:
    graph, groups = case
    sequence = [task for layer in layers(graph) for task in layer]
    needs = {task: ancestors(graph, task) for task in graph}
    expected = {}
    for name, tasks in groups.items():
        pairs = [(a, b) for a, b in combinations(set(tasks), 2) if a not in needs[b] and b not in needs[a]]
        if pairs:
            expected[name] = {task for pair in pairs for task in pair}
    found = unordered(graph, sequence, groups, block=block)
    assert {name: set(tasks) for name, tasks in found.items()} == expected
    assert all(tasks == sorted(tasks, key=sequence.index) for tasks in found.values())


def test_members_that_have_no_place_are_ignored() -> None:
    assert unordered({"A": []}, ["A"], {"file": ["A", "gone"]}) == {}
