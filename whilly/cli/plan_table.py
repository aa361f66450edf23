"""Plans as a table for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whilly.core.money import shown
from whilly.core.plan import Status
from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from whilly.operations.read_plans import PlanSummary

_HEAD = ("PLAN", "TASKS", "DONE", "RUNNING", "NEEDS A PERSON", "SPENT", "PROJECT")


def plan_table(plans: Sequence["PlanSummary"]) -> str:
    """One line for each plan, columns aligned."""
    rows = [_HEAD, *(_row(plan) for plan in plans)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(plan: "PlanSummary") -> tuple[str, ...]:
    running = plan.counts.get(Status.CLAIMED, 0) + plan.counts.get(Status.IN_PROGRESS, 0)
    person = sum(plan.counts.get(status, 0) for status in (Status.HUMAN_LOOP, Status.BLOCKED, Status.FAILED))
    spent = shown(plan.spent) + (f" of {shown(plan.budget)}" if plan.budget is not None else "")
    if plan.daily_budget is not None:
        spent += f", {shown(plan.spent_today)} of {shown(plan.daily_budget)} today"
    paused = " (asks about its budget)" if plan.asks_about_budget else " (paused)" if plan.paused is not None else ""
    name = one_line(plan.project, 60) + paused
    return (plan.id, str(plan.tasks), str(plan.counts.get(Status.DONE, 0)), str(running), str(person), spent, name)
