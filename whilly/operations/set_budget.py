"""Change what a plan may spend."""

from whilly.core.errors import UnknownPlan, UnknownTask
from whilly.core.money import Micros, to_usd
from whilly.store.database import Database


async def set_budget(database: Database, plan: str, budget: Micros | None) -> None:
    """Set or lift (None) a plan's budget, also while it runs: no claim goes beyond it from now on.

    Raises UnknownPlan.
    """
    async with database.transaction() as tx:
        if not await tx.fetch("lock_plan_budget", plan):
            raise UnknownPlan(plan)
        await tx.execute("set_budget", plan, budget)
        amount = None if budget is None else str(to_usd(budget))
        tx.tell(plan, None, "plan.budget_set", {"plan_id": plan, "budget_usd": amount})


async def set_task_budget(database: Database, plan: str, task: str, budget: Micros | None) -> None:
    """Set or lift (None) what all attempts of one task together may spend. Raises UnknownTask."""
    async with database.transaction() as tx:
        if not await tx.fetch("set_task_budget", plan, task, budget):
            raise UnknownTask(plan, task)
        amount = None if budget is None else str(to_usd(budget))
        tx.tell(plan, task, "task.budget_set", {"plan_id": plan, "task_id": task, "budget_usd": amount})
