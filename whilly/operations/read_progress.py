"""How far a plan is, and whether there is anything left for a worker."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from whilly.core.capabilities import RUNGS, rung
from whilly.core.errors import UnknownPlan
from whilly.core.money import Micros
from whilly.store.database import Database


@dataclass(frozen=True, slots=True)
class Progress:
    """A plan's tasks by what can be done about them, as a worker with certain agents sees it."""

    running: int
    ready: int
    """May start now, as far as the task itself is concerned."""
    parked: int
    parked_until: datetime | None
    """When the first of the parked ones may go on."""
    unserved: int
    """Ready, but for something that this worker does not have."""
    unserved_agent: str
    """The agent that it lacks; empty: none."""
    unserved_because: str
    """The tags or the isolation that it lacks, in words; empty: none."""
    spent_up: int
    """Ready, but their own budgets are used up."""
    pending: int
    waiting_for_person: int
    waiting_task: str
    """One of those; empty when there is none."""
    blocked: int
    failed: int
    done: int
    skipped: int
    running_tasks: tuple[str, ...]
    """Longest running first."""
    spent: Micros
    budget: Micros | None
    spent_today: Micros
    """Since midnight UTC."""
    daily_budget: Micros | None
    plan_spent_up: bool
    """Nothing is left to reserve."""
    day_spent_up: bool
    """The same until midnight UTC."""
    asks_about_budget: bool
    """The plan is paused because its budget is used up."""
    paused: str | None
    """Why nothing is handed out; None: tasks are."""
    plan_is_paused: bool
    """The plan itself, not everything."""

    @property
    def over(self) -> bool:
        """Whether nothing can happen any more without a person, money or another agent."""
        if self.running or self.parked:
            return False
        return not self.ready or self.plan_spent_up or self.day_spent_up


async def read_progress(
    database: Database, plan: str, agents: tuple[str, ...], *, tags: tuple[str, ...] = (), isolation: str = "clone"
) -> Progress:
    """Count the plan's tasks. Raises UnknownPlan."""
    (row,) = await database.read("progress", plan, list(agents), list(tags), rung(isolation))
    if row["spent_micros"] is None:
        raise UnknownPlan(plan)
    return Progress(
        running=row["running"],
        ready=row["ready"],
        parked=row["parked"],
        parked_until=row["parked_until"],
        unserved=row["unserved"],
        unserved_agent=row["unserved_agent"] or "",
        unserved_because=_because(row),
        spent_up=row["spent_up"],
        pending=row["pending"],
        waiting_for_person=row["waiting_for_person"],
        waiting_task=row["waiting_task"] or "",
        blocked=row["blocked"],
        failed=row["failed"],
        done=row["done"],
        skipped=row["skipped"],
        running_tasks=tuple(row["running_tasks"]),
        spent=row["spent_micros"],
        budget=row["budget_micros"],
        spent_today=row["spent_today_micros"],
        daily_budget=row["daily_budget_micros"],
        plan_spent_up=row["plan_spent_up"],
        day_spent_up=row["day_spent_up"],
        asks_about_budget=row["asks_about_budget"],
        paused=row["paused"],
        plan_is_paused=row["plan_is_paused"],
    )


def _because(row: Any) -> str:
    if row["unserved_tags"]:
        return f"a worker tagged {row['unserved_tags']}"
    return f"isolation {RUNGS[row['unserved_rung']]}" if row["unserved_rung"] else ""


async def agents_of_plan(database: Database, plan: str) -> list[str]:
    """The agents that the plan's tasks name, in alphabetical order."""
    return [row["agent"] for row in await database.read("agents_of_plan", plan)]
