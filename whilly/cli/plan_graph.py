"""A plan as a graph of text: what comes first stands first, and each open task says why it is not running."""

from typing import TYPE_CHECKING

from whilly.cli.badges import badge, faint
from whilly.core.graph import layers
from whilly.core.money import shown
from whilly.core.plan import FINISHED, RUNNING, Status
from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from whilly.operations.read_plans import PlanOverview, TaskView

DEEPEST = 8
"""Levels that are indented; deeper ones stand under the last, so that long chains stay on the screen."""

LONGEST = 100


def plan_graph(overview: "PlanOverview", *, colour: bool) -> str:
    """Title, one or two lines for each task, and a summary."""
    lines = [_title(overview), "─" * 72]
    views = {view.spec.id: view for view in overview.tasks}
    for depth, ids in enumerate(layers({task: view.spec.dependencies for task, view in views.items()})):
        for task in ids:
            lines += _task(views[task], min(depth, DEEPEST), colour)
    counts = overview.summary.counts
    told = " ".join(f"{status.value}={counts[status]}" for status in Status if counts.get(status))
    lines += ["─" * 72, f"Summary: {overview.summary.tasks} tasks · {told or 'none yet'}"]
    return "\n".join(lines)


def _title(overview: "PlanOverview") -> str:
    summary = overview.summary
    title = f"{summary.id}: {one_line(summary.project, 60)}"
    if summary.budget is not None or summary.spent:
        of = f" of {shown(summary.budget)}" if summary.budget is not None else ""
        reserved = f", {shown(summary.reserved)} reserved" if summary.reserved else ""
        title += f" · {shown(summary.spent)}{of} spent{reserved}"
    return title + (f" · paused: {one_line(summary.paused, 60)}" if summary.paused is not None else "")


def _task(view: "TaskView", depth: int, colour: bool) -> list[str]:
    indent = "  " * depth
    needs = f" ← {', '.join(view.spec.dependencies)}" if view.spec.dependencies else ""
    what = one_line(view.spec.description, 60)
    lines = [
        f"{badge(view.task.status, colour=colour)} {indent}{view.spec.id}  "
        f"{faint(f'({view.spec.priority.word}){needs}', colour=colour)}  {what}"
    ]
    if view.task.status not in FINISHED or view.task.status is Status.FAILED:
        running = f" · {one_line(view.last_line, 60)}" if view.task.status in RUNNING and view.last_line else ""
        lines.append(f"{' ' * 14}{indent}└─ {one_line(view.why.sentence, LONGEST)}{running}")
    return lines
