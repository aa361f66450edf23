"""Say where a plan's work happens."""

from whilly.core.errors import Refused, UnknownPlan
from whilly.core.redaction import is_storable
from whilly.store.database import Database


async def set_repository(database: Database, plan: str, path: str) -> None:
    """Set the local repository for the plan's tasks that name no repo target.

    Raises UnknownPlan, and Refused for a path that is no text, or while tasks are running in another repository:
    dependants build on their results there.
    """
    if not is_storable(path):
        raise Refused(f"The path {path!a} is not UTF-8 text; give the repository a path that is.")
    rows = await database.fetch("set_repository", plan, path)
    if not rows:
        raise UnknownPlan(plan)
    if rows[0]["busy"]:
        raise Refused(
            f"Plan {plan!r} has tasks running in {rows[0]['repository']}; wait for them or stop that run "
            f"before you work on the plan in {path}."
        )
