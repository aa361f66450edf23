"""What is told when a plan's spending reaches its budget, and the question that then waits for a person."""

from typing import Any

from whilly.core.budget import EXCEEDED_PCT, WARNING_PCT, reached
from whilly.core.money import Micros, shown, to_usd
from whilly.store.transaction import Transaction

_KINDS = {
    WARNING_PCT: ("plan.budget_warning", "plan.daily_budget_warning"),
    EXCEEDED_PCT: ("plan.budget_exceeded", "plan.daily_budget_exceeded"),
}


async def tell_of_settlement(tx: Transaction, row: Any, task: str) -> None:
    """Tell of each share of a budget that was reached by settling a bill: `row` is of `settle_budgets`.

    The plan's row is locked, so whoever settles next compares with what is told here: once per crossing. A plan whose
    budget is used up while work is left is paused with a question.
    """
    crossed = reached(row["budget_micros"], row["spent_after"]) - reached(row["budget_micros"], row["spent_before"])
    tell_of_budget(tx, row["id"], row["budget_micros"], row["spent_after"], crossed, task=task)
    daily = row["daily_budget_micros"]
    for share in sorted(reached(daily, row["spent_today_after"]) - reached(daily, row["spent_today_before"])):
        payload = _payload(row["id"], daily, row["spent_today_after"], share, task)
        payload |= {"reason": "daily_budget_threshold", "day": row["day"].isoformat()}
        tx.tell(row["id"], None, _KINDS[share][1], payload)
    if EXCEEDED_PCT in crossed:
        await _ask(tx, row["id"], row["budget_micros"], row["spent_after"])


def tell_of_budget(
    tx: Transaction, plan: str, budget: Micros | None, spent: Micros, shares: frozenset[int], *, task: str | None = None
) -> None:
    """Tell that these shares of a plan's budget are spent now; `task` is the one whose bill did it."""
    for share in sorted(shares):
        tx.tell(plan, None, _KINDS[share][0], _payload(plan, budget or 0, spent, share, task))


def _payload(plan: str, budget: Micros, spent: Micros, share: int, task: str | None) -> dict[str, Any]:
    return {
        "plan_id": plan,
        "budget_usd": str(to_usd(budget)),
        "spent_usd": str(to_usd(spent)),
        "crossing_task_id": task,
        "reason": "budget_threshold",
        "threshold_pct": share,
    }


async def _ask(tx: Transaction, plan: str, budget: Micros, spent: Micros) -> None:
    question = f"The budget of {shown(budget)} is used up ({shown(spent)} spent): raise it, or go on without one?"
    if await tx.fetch("ask_about_budget", plan, question):
        tx.tell(plan, None, "plan.paused", {"plan_id": plan, "reason": question, "by": "whilly"})
