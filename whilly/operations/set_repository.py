"""Say where a plan's work happens."""

from whilly.core.errors import UnknownPlan
from whilly.store.database import Database


async def set_repository(database: Database, plan: str, path: str) -> None:
    """Set the local repository for the plan's tasks that name no repo target. Raises UnknownPlan."""
    if not await database.fetch("set_repository", plan, path):
        raise UnknownPlan(plan)
