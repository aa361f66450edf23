"""Stop handing out tasks, of one plan or of all, and start again. What runs goes on."""

from whilly.core.errors import UnknownPlan
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN


async def pause(database: Database, plan: str | None, reason: str, by: str) -> None:
    """Hand out no more tasks. Raises UnknownPlan."""
    await _set(database, plan, reason or f"Paused by {by}.", by)


async def resume(database: Database, plan: str | None, by: str) -> None:
    """Hand out tasks again. Raises UnknownPlan."""
    await _set(database, plan, None, by)


async def system_paused(database: Database) -> str | None:
    """Why no tasks are handed out at all; None when they are, except of plans that are paused by themselves."""
    reason: str | None = (await database.read("system_paused"))[0]["paused_reason"]
    return reason


async def _set(database: Database, plan: str | None, reason: str | None, by: str) -> None:
    async with database.transaction() as tx:
        rows = await tx.fetch("pause_plan", plan, reason) if plan else await tx.fetch("pause_all", reason)
        if plan and not rows:
            raise UnknownPlan(plan)
        scope, subject = (plan, "plan") if plan else (EVERY_PLAN, "system")
        kind = f"{subject}.resumed" if reason is None else f"{subject}.paused"
        tx.tell(scope, None, kind, {"plan_id": scope, "reason": reason or "", "by": by})
