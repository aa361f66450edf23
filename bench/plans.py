"""Plans to be worked off."""

from whilly.core.money import Micros
from whilly.core.plan import Plan, TaskSpec

WIDTH = 200
"""Tasks that could run side by side: more than anybody asks for at a time."""


def layered(plan: str, count: int, *, budget: Micros | None = None, files: int = 0, width: int = WIDTH) -> Plan:
    """A plan of layers; each task beyond the first layer needs two of the layer before, and has two dependants.

    `files`: key files per task, no two alike.
    """
    return Plan(plan, f"Layers of {width}", tuple(_task(place, width, files) for place in range(count)), budget=budget)


def name_of(place: int) -> str:
    """The id of the task at this place."""
    return f"TASK-{place:07}"


def _task(place: int, width: int, files: int) -> TaskSpec:
    return TaskSpec(
        name_of(place),
        f"Write the function number {place} of the library, with its tests and a line in its documentation.",
        dependencies=_needs(place, width),
        key_files=tuple(f"src/module_{place}/part_{number}.py" for number in range(files)),
        acceptance_criteria=("The function exists and is exported.", "Its tests pass."),
        test_steps=("python -m pytest -q",),
    )


def _needs(place: int, width: int) -> tuple[str, ...]:
    if place < width:
        return ()
    above = place - width
    return tuple(name_of(needed) for needed in sorted({above, max(above - 1, 0)}))
