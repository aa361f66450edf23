"""An empty plan, to be filled later."""

from functools import partial

from whilly.core.errors import Refused
from whilly.core.money import Micros
from whilly.core.plan import Plan
from whilly.operations.import_plan import store_plan
from whilly.store.database import Database
from whilly.store.transaction import Transaction


async def create_plan(database: Database, plan: str, project: str, budget: Micros | None) -> None:
    """Create a plan without tasks. Raises Refused when there is one by that name."""
    await database.transact(partial(_create, plan=Plan(plan, project, budget=budget)))


async def _create(tx: Transaction, plan: Plan) -> None:
    if await tx.fetch("lock_plan", plan.id):
        raise Refused(
            f"Plan {plan.id!r} exists already and was left as it is; "
            f"`whilly budget set {plan.id} USD` changes its budget."
        )
    await store_plan(tx, plan)
