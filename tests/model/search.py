"""Looks at every state that the model can reach, and follows real traces through it."""

from collections import deque
from collections.abc import Iterable

from tests.model.queue_model import DONE, PENDING, STOPPED, Rules, State, Step, start, steps


def counter_example(rules: Rules) -> tuple[str, list[str], int]:
    """The promise that is broken after the fewest steps, these steps, and how many states were seen; '' for none."""
    first = start(rules)
    came_from: dict[State, tuple[State, Step] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for step in steps(state, rules):
            if step.broken:
                return step.broken, [str(each) for each in (*_way_to(state, came_from), step)], len(came_from)
            if step.after not in came_from:
                came_from[step.after] = (state, step)
                waiting.append(step.after)
    return "", [], len(came_from)


def _way_to(state: State, came_from: dict[State, tuple[State, Step] | None]) -> list[Step]:
    way = []
    while (before := came_from[state]) is not None:
        state, step = before
        way.append(step)
    return way[::-1]


OF_REAL_TASKS = Rules(workers=1, most_claims=1_000, people=True)
"""One task, whoever works on it, and the people who steer it."""

SILENT = frozenset({"time passes", "heartbeat", "heartbeat begins", "sweep reads"})
"""Steps that leave no event."""


def first_surprise(events: Iterable[str], rules: Rules = OF_REAL_TASKS) -> str:
    """The first event of one task's trace that the model cannot follow, with its place; '' when it follows all."""
    possible = {start(rules, status) for status in (PENDING, STOPPED, DONE)}
    told: list[str] = []
    for event in events:
        told.append(event)
        possible = {
            step.after for state in _silently(possible, rules) for step in steps(state, rules) if step.name == event
        }
        if not possible:
            return f"{event} after {', '.join(told[:-1]) or 'nothing'}"
    return ""


def _silently(states: set[State], rules: Rules) -> set[State]:
    """These states, and those that steps without an event lead to from them."""
    found, waiting = set(states), list(states)
    while waiting:
        for step in steps(waiting.pop(), rules):
            if step.name in SILENT and step.after not in found:
                found.add(step.after)
                waiting.append(step.after)
    return found
