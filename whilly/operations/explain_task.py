"""Why a task is where it is."""

from whilly.core.why import Why
from whilly.operations.read_plans import task_view
from whilly.store.database import Database


async def explain_task(database: Database, plan: str, task: str) -> Why:
    """The reason in one sentence, and what would change it. Raises UnknownPlan, UnknownTask."""
    return (await task_view(database, plan, task)).why
