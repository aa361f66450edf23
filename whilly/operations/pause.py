"""Stop handing out tasks, of one plan or of all, and start again. What runs goes on."""

from whilly.core.errors import Refused, UnknownPlan
from whilly.core.money import shown
from whilly.store.database import Database
from whilly.store.purses import purse_from
from whilly.store.transaction import EVERY_PLAN, Transaction


async def pause(database: Database, plan: str | None, reason: str, by: str) -> None:
    """Hand out no more tasks. Raises UnknownPlan."""
    await _set(database, plan, reason or f"Paused by {by}.", by)


async def resume(database: Database, plan: str | None, by: str) -> None:
    """Hand out tasks again. Raises UnknownPlan, and Refused for a plan that is paused because its budget is used up."""
    await _set(database, plan, None, by)


async def system_paused(database: Database) -> str | None:
    """Why no tasks are handed out at all; None when they are, except of plans that are paused by themselves."""
    reason: str | None = (await database.read("system_paused"))[0]["paused_reason"]
    return reason


async def _set(database: Database, plan: str | None, reason: str | None, by: str) -> None:
    async with database.transaction() as tx:
        if plan and reason is None:
            await _refuse_unpaid(tx, plan)
        rows = await tx.fetch("pause_plan", plan, reason) if plan else await tx.fetch("pause_all", reason)
        if plan and not rows:
            raise UnknownPlan(plan)
        scope, subject = (plan, "plan") if plan else (EVERY_PLAN, "system")
        kind = f"{subject}.resumed" if reason is None else f"{subject}.paused"
        tx.tell(scope, None, kind, {"plan_id": scope, "reason": reason or "", "by": by})


async def _refuse_unpaid(tx: Transaction, plan: str) -> None:
    """It would be no answer: without money no task is handed out."""
    rows = await tx.fetch("lock_plan_budget", plan)
    if not rows or not rows[0]["asks_about_budget"]:
        return
    purse = purse_from(rows[0])
    raise Refused(
        f"Plan {plan} has spent {shown(purse.spent)} of its budget of {shown(purse.budget)}. Raise it with "
        f"`whilly budget set {plan} AMOUNT`, or go on without one: `whilly budget set {plan} none`."
    )
