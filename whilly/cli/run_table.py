"""The table that changes while a run goes on."""

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from whilly.core.money import shown
from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from whilly.operations.read_plans import PlanOverview, TaskView
    from whilly.operations.read_progress import Progress

_COLUMNS = ("Task", "Phase", "For", "Spent", "Says")


def run_table(plan: str, progress: "Progress", overview: "PlanOverview") -> Group:
    """What runs now, and how far the plan is."""
    table = Table(box=None, padding=(0, 1), expand=True)
    for column in _COLUMNS:
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if column == "Says" else None)
    for view in overview.tasks:
        table.add_row(*(Text(cell) for cell in _cells(view, overview)))
    return Group(table, Text(_footer(plan, progress), style="bold"))


def _cells(view: "TaskView", overview: "PlanOverview") -> tuple[str, ...]:
    claim = view.task.claim
    seconds = max((overview.at - claim.since).total_seconds(), 0) if claim else 0
    spent = "" if view.used is None else shown(view.used)
    return (
        view.spec.id,
        one_line(view.phase, 20),
        f"{seconds:.0f} s",
        spent,
        one_line(view.last_line or view.spec.description, 120),
    )


def _footer(plan: str, progress: "Progress") -> str:
    of = f" of {shown(progress.budget)}" if progress.budget is not None else ""
    parts = [
        f"{plan}: {progress.done} done",
        f"{progress.running} running",
        f"{progress.pending} to do",
        *(f"{count} {word}" for count, word in _troubles(progress) if count),
        f"{shown(progress.spent)}{of} spent",
    ]
    if progress.paused is not None:
        parts.append(f"paused: {one_line(progress.paused, 60)}")
    return " · ".join(parts)


def _troubles(progress: "Progress") -> list[tuple[int, str]]:
    return [
        (progress.waiting_for_person, "waiting for a person"),
        (progress.parked, "parked"),
        (progress.failed, "failed"),
        (progress.blocked, "blocked"),
        (progress.skipped, "skipped"),
    ]
