"""Which tasks among those that share something are in no order: neither needs the other, not even through others."""

from collections.abc import Iterable, Mapping, Sequence

from whilly.core.graph import Graph

BLOCK = 8192
"""Tasks followed at once, one bit each: 8,192 keep the bits of 50,000 tasks within 52 MB."""


def unordered(
    graph: Graph, order: Sequence[str], groups: Mapping[str, Sequence[str]], *, block: int = BLOCK
) -> dict[str, list[str]]:
    """For each group, its members that could run at the same moment as another member; groups without any left out.

    `order` lists tasks after those that they depend on; members that it does not list are ignored. Costs a few passes
    over the graph per `block` members, however many pairs the groups have.
    """
    place = {task: position for position, task in enumerate(order)}
    members = {name: sorted({t for t in tasks if t in place}, key=place.__getitem__) for name, tasks in groups.items()}
    shared = sorted({task for tasks in members.values() for task in tasks}, key=place.__getitem__)
    needs = {task: [d for d in graph[task] if d in place] for task in order}
    needed_by: dict[str, list[str]] = {task: [] for task in order}
    for task, dependencies in needs.items():
        for dependency in dependencies:
            needed_by[dependency].append(task)
    related: dict[tuple[str, str], int] = {}
    for start in range(0, len(shared), block):
        bits = {task: 1 << number for number, task in enumerate(shared[start : start + block])}
        for direction, sequence in ((needs, order), (needed_by, order[::-1])):
            _count(_reached(bits, direction, sequence, shared), bits, members, related)
    return {
        name: loose
        for name, tasks in members.items()
        if (loose := [task for task in tasks if related.get((name, task), 0) < len(tasks) - 1])
    }


def _reached(
    bits: Mapping[str, int], following: Mapping[str, list[str]], sequence: Iterable[str], wanted: Sequence[str]
) -> dict[str, int]:
    """For each wanted task, the marked tasks that are reached from it, as bits."""
    reached: dict[str, int] = {}
    for task in sequence:
        found = 0
        for next_task in following[task]:
            found |= reached[next_task] | bits.get(next_task, 0)
        reached[task] = found
    return {task: reached[task] for task in wanted}


def _count(
    reached: Mapping[str, int],
    bits: Mapping[str, int],
    members: Mapping[str, list[str]],
    related: dict[tuple[str, str], int],
) -> None:
    for name, tasks in members.items():
        group = 0
        for task in tasks:
            group |= bits.get(task, 0)
        if group:
            for task in tasks:
                related[name, task] = related.get((name, task), 0) + (reached[task] & group).bit_count()
