"""How the tasks of a file refer to each other and to its repositories."""

from collections.abc import Sequence
from difflib import get_close_matches

from whilly.core.graph import loops
from whilly.core.names import check_id
from whilly.core.plan import RepoTarget, TaskSpec
from whilly.planfile.findings import Findings, Path
from whilly.planfile.problems import quoted, visible

_MOST_COMPARED = 1_000
"""Ids among which the nearest spelling is looked for."""


def check_references(tasks: Sequence[TaskSpec], places: Sequence[Path], findings: Findings) -> None:
    """Report colliding ids, and dependencies that lead nowhere or in a loop. An empty id is one that was refused."""
    named = [(task, place) for task, place in zip(tasks, places, strict=True) if task.id]
    place_of = _check_collisions(named, findings)
    by_fold = {task.id.casefold(): task.id for task, _ in named}
    known = frozenset(place_of)
    for task, place in zip(tasks, places, strict=True):
        if task.dependencies:
            _check_dependencies(task, place, known, by_fold, findings)
    graph = {task.id: [d for d in task.dependencies if d != task.id] for task, _ in named}
    for loop in loops(graph):
        shown = " → ".join(task if check_id(task) is None else visible(task) for task in loop)
        findings.problem(
            (*place_of[loop[0]], "dependencies"),
            f"The tasks wait for each other in a loop: {shown}",
            "Remove one of these dependencies.",
        )


def check_targets(
    tasks: Sequence[TaskSpec], places: Sequence[Path], targets: Sequence[RepoTarget], findings: Findings
) -> None:
    """Report repositories that tasks name and nobody declared."""
    declared = {target.id for target in targets}
    for task, place in zip(tasks, places, strict=True):
        if task.repo_target_id and task.repo_target_id not in declared:
            among = ", ".join(sorted(declared)[:10])
            remedy = f"Write one of {among}." if declared else "Declare it under repo_targets, or remove the key."
            what = f"The repository {quoted(task.repo_target_id)} is not among the plan's repo_targets"
            findings.problem((*place, "repo_target_id"), what, remedy)


def _check_collisions(named: Sequence[tuple[TaskSpec, Path]], findings: Findings) -> dict[str, Path]:
    first: dict[str, tuple[str, Path]] = {}
    place_of: dict[str, Path] = {}
    for task, place in named:
        place_of.setdefault(task.id, place)
        other_id, other_place = first.setdefault(task.id.casefold(), (task.id, place))
        if other_place is place:
            continue
        if other_id == task.id:
            what = f"The id {quoted(task.id)} is already taken by another task"
        else:
            what = f"The id {quoted(task.id)} differs from {quoted(other_id)} only in case"
        findings.problem((*place, "id"), what, "Give each task its own id.", see=(*other_place, "id"))
    return place_of


def _check_dependencies(
    task: TaskSpec, place: Path, known: frozenset[str], by_fold: dict[str, str], findings: Findings
) -> None:
    distinct = set(task.dependencies)
    if len(distinct) == len(task.dependencies) and distinct <= known and task.id not in distinct:
        return
    met: set[str] = set()
    for position, dependency in enumerate(task.dependencies):
        here = (*place, "dependencies", position)
        if dependency in met:
            findings.problem(here, f"The dependency {quoted(dependency)} is listed twice", "Remove one of them.")
        elif dependency == task.id:
            findings.problem(here, f"The task depends on itself ({quoted(dependency)})", "Remove this dependency.")
        elif dependency not in known:
            nearest = by_fold.get(dependency.strip().casefold()) or _nearest(dependency, known)
            remedy = f"Write {quoted(nearest)}, or remove it." if nearest else "Add that task, or remove it."
            findings.problem(here, f"The dependency {quoted(dependency)} is not a task of this plan", remedy)
        met.add(dependency)


def _nearest(dependency: str, known: frozenset[str]) -> str | None:
    if len(known) > _MOST_COMPARED or len(dependency) > 64:
        return None
    return next(iter(get_close_matches(dependency, known, n=1, cutoff=0.8)), None)
