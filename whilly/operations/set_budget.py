"""Change what a plan may spend."""

from dataclasses import replace
from functools import partial

from whilly.core.budget import EXCEEDED_PCT, Purse, reached
from whilly.core.errors import UnknownPlan, UnknownTask
from whilly.core.money import Micros, to_usd
from whilly.operations.tell_of_spending import tell_of_budget
from whilly.store.database import Database
from whilly.store.purses import purse_from
from whilly.store.transaction import LostRace, Transaction


async def set_budget(database: Database, plan: str, budget: Micros | None, by: str = "") -> None:
    """Set or lift (None) a plan's budget, also while it runs: no claim goes beyond it from now on.

    A plan that was paused because its budget was used up goes on if there is money again. Raises UnknownPlan.
    """
    await database.transact(partial(_set, plan=plan, budget=budget, daily=False, by=by))


async def set_daily_budget(database: Database, plan: str, budget: Micros | None, by: str = "") -> None:
    """The same for what a plan may spend per day, which begins at midnight UTC. Raises UnknownPlan."""
    await database.transact(partial(_set, plan=plan, budget=budget, daily=True, by=by))


async def _set(tx: Transaction, plan: str, budget: Micros | None, daily: bool, by: str) -> None:
    known = await tx.fetch("plan_by_id", plan)
    if not known:
        raise UnknownPlan(plan)
    first_limit = budget is not None and known[0]["budget_micros"] is None and known[0]["daily_budget_micros"] is None
    if first_limit:
        # Attempts of a plan without a budget reserve nothing in it, so none may begin or end while they are counted.
        await tx.execute("lock_unfinished_tasks", plan)
    purse = purse_from((await tx.fetch("lock_plan_budget", plan))[0])
    if not purse.limited and budget is not None and not first_limit:
        raise LostRace(f"the budget of plan {plan} was lifted in the same moment")
    if daily:
        await book_budgets(tx, plan, purse, purse.budget, budget, by)
    else:
        await book_budgets(tx, plan, purse, budget, purse.daily_budget, by)
    amount = None if budget is None else str(to_usd(budget))
    kind = "plan.daily_budget_set" if daily else "plan.budget_set"
    tx.tell(plan, None, kind, {"plan_id": plan, "budget_usd": amount, "by": by})


async def book_budgets(
    tx: Transaction, plan: str, purse: Purse, budget: Micros | None, daily: Micros | None, by: str
) -> None:
    """Set both budgets of a plan whose row is locked and whose purse is `purse`; tell what follows.

    A budget that is set to less than is spent already is exceeded by that. It is not asked about: it was a person's.
    """
    await tx.execute("set_budget", plan, budget, daily)
    now = replace(purse, budget=budget)
    tell_of_budget(tx, plan, budget, purse.spent, _shares(now) - _shares(purse))
    if EXCEEDED_PCT not in _shares(now) and await tx.fetch("answer_about_budget", plan):
        tx.tell(plan, None, "plan.resumed", {"plan_id": plan, "reason": "", "by": by})


def _shares(purse: Purse) -> frozenset[int]:
    return reached(purse.budget, purse.spent)


async def set_task_budget(database: Database, plan: str, task: str, budget: Micros | None) -> None:
    """Set or lift (None) what all attempts of one task together may spend. Raises UnknownTask."""
    async with database.transaction() as tx:
        if not await tx.fetch("set_task_budget", plan, task, budget):
            raise UnknownTask(plan, task)
        amount = None if budget is None else str(to_usd(budget))
        tx.tell(plan, task, "task.budget_set", {"plan_id": plan, "task_id": task, "budget_usd": amount})
