"""Finds the plan in a document that has something around it."""

from collections import deque
from dataclasses import dataclass

from whilly.planfile.findings import Findings, Path
from whilly.planfile.problems import kind_of, visible

_DEEPEST = 3
_MOST_OBJECTS = 1_000


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of a plan and where they stand; whatever is around them is already reported."""

    values: dict[str, object]
    place: Path
    """Of the object that has the plan's keys."""
    tasks_place: Path
    is_wrapped: bool = False


def outline_of(document: object, findings: Findings) -> Outline | None:
    """The plan's object; None when there is nothing like a plan."""
    if isinstance(document, list):
        findings.problem(
            (),
            "The file is a list, not an object",
            'Put the list into a plan: {"project": "…", "tasks": […]}.',
        )
        return Outline({"tasks": document}, (), (), is_wrapped=True)
    if not isinstance(document, dict):
        findings.problem((), f"The file is {kind_of(document)}, not an object", 'Write {"project": …, "tasks": […]}.')
        return None
    if "tasks" in document:
        return Outline(document, (), ("tasks",))
    wrapped = _objects_with_tasks(document)
    if not wrapped:
        return Outline(document, (), ("tasks",))
    for place, _ in wrapped:
        path = ".".join(visible(str(step), 40) for step in place)
        findings.problem(
            place,
            f'The tasks stand under the unexpected key "{path}" ("{path}.tasks")',
            f'Remove the wrapper "{path}", so that "tasks" and "project" stand at the top.',
        )
    if len(wrapped) > 1:
        return None
    place, values = wrapped[0]
    return Outline(values, place, (*place, "tasks"), is_wrapped=True)


def _objects_with_tasks(document: dict[str, object]) -> list[tuple[Path, dict[str, object]]]:
    found: list[tuple[Path, dict[str, object]]] = []
    waiting: deque[tuple[Path, dict[str, object]]] = deque([((), document)])
    looked_at = 0
    while waiting and looked_at < _MOST_OBJECTS:
        place, values = waiting.popleft()
        looked_at += 1
        for key, value in values.items():
            if not isinstance(value, dict):
                continue
            if isinstance(value.get("tasks"), list):
                found.append(((*place, key), value))
            elif len(place) + 1 < _DEEPEST:
                waiting.append(((*place, key), value))
    return found
