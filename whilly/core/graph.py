"""Order among tasks: loops, layers, dependants. Nothing here recurses, so a chain may be as long as memory allows.

A graph maps each task to the tasks it depends on. Names that are not themselves keys of the graph are ignored.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Graph: TypeAlias = Mapping[str, Sequence[str]]


def dependants_of(graph: Graph) -> dict[str, list[str]]:
    """For each task, the tasks that wait for it, in the order of the graph."""
    waiting: dict[str, list[str]] = {task: [] for task in graph}
    for task, dependencies in graph.items():
        for dependency in dict.fromkeys(dependencies):
            if dependency in waiting:
                waiting[dependency].append(task)
    return waiting


def layers(graph: Graph) -> list[list[str]]:
    """Tasks that can run side by side, layer after layer; each task stands directly below its deepest dependency.

    Within a layer the order is that of the graph. Raises ValueError when tasks depend on each other in a loop.
    """
    place = {task: position for position, task in enumerate(graph)}
    waiting = dependants_of(graph)
    open_dependencies = {task: sum(d in place for d in set(dependencies)) for task, dependencies in graph.items()}
    layer = [task for task, count in open_dependencies.items() if not count]
    found: list[list[str]] = []
    while layer:
        found.append(layer)
        freed: list[str] = []
        for task in layer:
            for dependant in waiting[task]:
                open_dependencies[dependant] -= 1
                if not open_dependencies[dependant]:
                    freed.append(dependant)
        layer = sorted(freed, key=place.__getitem__)
    if sum(map(len, found)) < len(place):
        raise ValueError("The tasks depend on each other in a loop, so no order among them exists.")
    return found


def loops(graph: Graph) -> list[tuple[str, ...]]:
    """One loop for each knot of tasks that depend on each other: `("A", "B", "C", "A")` when A depends on B.

    A knot with several loops shows the shortest one through its first task. Empty when the graph has an order.
    """
    place = {task: position for position, task in enumerate(graph)}
    found = []
    for knot in _knots(graph):
        first = min(knot, key=place.__getitem__)
        found.append(_shortest_loop(graph, first, knot))
    return sorted(found, key=lambda loop: place[loop[0]])


def _shortest_loop(graph: Graph, first: str, knot: set[str]) -> tuple[str, ...]:
    came_from: dict[str, str] = {}
    queue = deque([first])
    while queue:
        task = queue.popleft()
        for dependency in graph[task]:
            if dependency == first:
                back = [first, task]
                while task != first:
                    task = came_from[task]
                    back.append(task)
                return tuple(reversed(back))
            if dependency in knot and dependency not in came_from:
                came_from[dependency] = task
                queue.append(dependency)
    raise AssertionError("each task of a knot lies on a loop")


def _knots(graph: Graph) -> Iterator[set[str]]:
    """Strongly connected components that contain a loop (Tarjan's algorithm with its own stack)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_tasks: list[str] = []
    is_open: set[str] = set()
    for root in graph:
        if root in index:
            continue
        path: list[tuple[str, Iterator[str]]] = [(root, iter(graph[root]))]
        index[root] = lowest[root] = len(index)
        open_tasks.append(root)
        is_open.add(root)
        while path:
            task, remaining = path[-1]
            for dependency in remaining:
                if dependency in is_open:
                    lowest[task] = min(lowest[task], index[dependency])
                elif dependency in graph and dependency not in index:
                    index[dependency] = lowest[dependency] = len(index)
                    open_tasks.append(dependency)
                    is_open.add(dependency)
                    path.append((dependency, iter(graph[dependency])))
                    break
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[task])
                if lowest[task] == index[task]:
                    knot = _closed(task, open_tasks, is_open)
                    if len(knot) > 1 or task in graph[task]:
                        yield knot


def _closed(root: str, open_tasks: list[str], is_open: set[str]) -> set[str]:
    knot: set[str] = set()
    while root not in knot:
        task = open_tasks.pop()
        is_open.discard(task)
        knot.add(task)
    return knot
