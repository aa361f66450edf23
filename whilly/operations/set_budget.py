"""Change what a plan may spend."""

from functools import partial

from whilly.core.errors import UnknownPlan, UnknownTask
from whilly.core.money import Micros, to_usd
from whilly.store.database import Database
from whilly.store.transaction import LostRace, Transaction


async def set_budget(database: Database, plan: str, budget: Micros | None) -> None:
    """Set or lift (None) a plan's budget, also while it runs: no claim goes beyond it from now on.

    Raises UnknownPlan.
    """
    await database.transact(partial(_set, plan=plan, budget=budget))


async def _set(tx: Transaction, plan: str, budget: Micros | None) -> None:
    known = await tx.fetch("plan_by_id", plan)
    if not known:
        raise UnknownPlan(plan)
    first_limit = known[0]["budget_micros"] is None and budget is not None
    if first_limit:
        # Attempts of a plan without a budget reserve nothing in it, so none may begin or end while they are counted.
        await tx.execute("lock_unfinished_tasks", plan)
    (money,) = await tx.fetch("lock_plan_budget", plan)
    if money["budget_micros"] is None and budget is not None and not first_limit:
        raise LostRace(f"the budget of plan {plan} was lifted in the same moment")
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
