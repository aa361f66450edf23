import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.graph import dependants_of, layers, loops

DIAMOND = {"A": ["B", "C"], "B": ["D"], "C": ["D"], "D": []}


def graphs(size: int = 8) -> st.SearchStrategy[dict[str, list[str]]]:
    names = [str(number) for number in range(size)]
    return st.fixed_dictionaries({name: st.lists(st.sampled_from(names), max_size=3) for name in names})


def test_a_diamond_is_no_loop() -> None:
    assert loops(DIAMOND) == []
    assert layers(DIAMOND) == [["D"], ["B", "C"], ["A"]]


def test_the_whole_loop_is_named() -> None:
    assert loops({"A": ["B"], "B": ["C"], "C": ["A"]}) == [("A", "B", "C", "A")]


def test_a_task_that_waits_for_itself_is_a_loop() -> None:
    assert loops({"A": ["A"], "B": []}) == [("A", "A")]


def test_each_knot_is_named_once_by_its_shortest_loop() -> None:
    graph = {"A": ["B"], "B": ["C", "A"], "C": ["A"], "X": ["Y", "A"], "Y": ["X"], "behind": ["X"]}
    assert loops(graph) == [("A", "B", "A"), ("X", "Y", "X")]


def test_unknown_names_are_ignored() -> None:
    graph = {"A": ["gone"], "B": ["A", "gone"]}
    assert loops(graph) == []
    assert layers(graph) == [["A"], ["B"]]
    assert dependants_of(graph) == {"A": ["B"], "B": []}


def test_a_repeated_dependency_counts_once() -> None:
    assert layers({"A": ["B", "B"], "B": []}) == [["B"], ["A"]]
    assert dependants_of({"A": ["B", "B"], "B": []})["B"] == ["A"]


def test_a_layer_keeps_the_order_of_the_graph() -> None:
    graph = {"Z": ["M"], "C": ["N"], "M": [], "N": [], "B": ["M", "N"]}
    assert layers(graph) == [["M", "N"], ["Z", "C", "B"]]


def test_there_are_no_layers_where_there_is_a_loop() -> None:
    with pytest.raises(ValueError, match="loop"):
        layers({"A": ["B"], "B": ["A"], "C": []})


def test_a_long_chain_does_not_recurse() -> None:
    chain = {str(n): [str(n + 1)] for n in range(10_000)} | {"10000": []}
    assert loops(chain) == []
    assert len(layers(chain)) == 10_001
    chain["10000"] = ["0"]
    assert len(loops(chain)[0]) == 10_002


def test_fifty_thousand_tasks_take_little_time() -> None:
    graph = {str(n): [str(n - step) for step in (1, 7, 100) if n >= step] for n in range(50_000)}
    before = time.process_time()
    assert loops(graph) == []
    assert len(layers(graph)) == 50_000
    assert time.process_time() - before < 3


@given(graphs())
def test_a_graph_has_layers_or_loops(graph: dict[str, list[str]]) -> None:
    found = loops(graph)
    for loop in found:
        assert loop[0] == loop[-1]
        assert len(set(loop)) == len(loop) - 1
        assert all(after in graph[before] for before, after in itertools.pairwise(loop))
    if found:
        with pytest.raises(ValueError, match="loop"):
            layers(graph)
    else:
        level = {task: number for number, layer in enumerate(layers(graph)) for task in layer}
        assert level.keys() == graph.keys()
        for task, needs in graph.items():
            assert level[task] == max((level[needed] + 1 for needed in needs), default=0)
