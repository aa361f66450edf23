"""Which repositories the tasks of a plan are about."""

from dataclasses import dataclass

from whilly.core.errors import UnknownPlan
from whilly.core.plan import RepoTarget
from whilly.store.database import Database
from whilly.store.specs import from_json


@dataclass(frozen=True, slots=True)
class Targets:
    """The repo targets of a plan."""

    declared: tuple[RepoTarget, ...]
    used: frozenset[str]
    """Ids that unfinished tasks name; the empty one: some name none."""


async def read_targets(database: Database, plan: str) -> Targets:
    """Raises UnknownPlan."""
    rows = await database.fetch("targets_of_plan", plan)
    if not rows:
        raise UnknownPlan(plan)
    return Targets(from_json(tuple[RepoTarget, ...], rows[0]["repo_targets"]), frozenset(rows[0]["used"]))
