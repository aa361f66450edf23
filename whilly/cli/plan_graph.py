"""A plan as a graph of text: what comes first stands first, and each open task says why it is not running."""

from typing import TYPE_CHECKING

from whilly.cli.badges import WIDTH, badge, faint
from whilly.core.graph import layers
from whilly.core.money import shown
from whilly.core.plan import FINISHED, RUNNING, Status
from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from whilly.operations.read_plans import PlanOverview, TaskView

BADGE = WIDTH + 2
DEEPEST = 8
"""Levels that are indented; deeper ones stand under the last, so that long chains stay on the screen."""

LONGEST = 100
LONGEST_DESCRIPTION = 60
SHORTEST = 10
"""Characters; less than that of a text says nothing."""

RULE = 72


def plan_graph(overview: "PlanOverview", *, colour: bool, width: int | None = None) -> str:
    """Title, one or two lines for each task, and a summary. `width`: of the terminal, if it is one."""
    rule = "─" * min(RULE, width or RULE)
    lines = [_title(overview), rule]
    views = {view.spec.id: view for view in overview.tasks}
    for depth, ids in enumerate(layers({task: view.spec.dependencies for task, view in views.items()})):
        for task in ids:
            lines += _task(views[task], min(depth, DEEPEST), colour, width)
    counts = overview.summary.counts
    told = " ".join(f"{status.value}={counts[status]}" for status in Status if counts.get(status))
    lines += [rule, f"Summary: {_tasks(overview.summary.tasks)} · {told or 'none yet'}"]
    return "\n".join(lines)


def _title(overview: "PlanOverview") -> str:
    summary = overview.summary
    title = f"{summary.id}: {one_line(summary.project, 60)}"
    if summary.budget is not None or summary.spent:
        of = f" of {shown(summary.budget)}" if summary.budget is not None else ""
        reserved = f", {shown(summary.reserved)} reserved" if summary.reserved else ""
        title += f" · {shown(summary.spent)}{of} spent{reserved}"
    return title + (f" · paused: {one_line(summary.paused, 60)}" if summary.paused is not None else "")


def _task(view: "TaskView", depth: int, colour: bool, width: int | None) -> list[str]:
    indent = "  " * depth
    head = f"{badge(view.task.status, colour=False)} {indent}{view.spec.id}  "
    about = f"({view.spec.priority.word})"
    if view.spec.dependencies:
        needs = f"← {', '.join(view.spec.dependencies)}"
        about += f" {needs if width is None else one_line(needs, max(width - len(head) - len(about) - 1, SHORTEST))}"
    room = LONGEST_DESCRIPTION if width is None else min(width - len(head) - len(about) - 2, LONGEST_DESCRIPTION)
    what = f"  {one_line(view.spec.description, room)}" if room >= SHORTEST else ""
    lines = [f"{badge(view.task.status, colour=colour)}{head[BADGE:]}{faint(about, colour=colour)}{what}"]
    if view.task.status not in FINISHED or view.task.status is Status.FAILED:
        why = one_line(view.why.sentence, LONGEST)
        if view.task.status in RUNNING and view.last_line:
            why += f" · {one_line(view.last_line, LONGEST_DESCRIPTION)}"
        start = f"{' ' * BADGE} {indent}└─ " if width is None or width > RULE else f" {indent}└─ "
        lines.append(start + (why if width is None else one_line(why, max(width - len(start), SHORTEST))))
    return lines


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count != 1 else ''}"
