"""The numbers that monitoring asks for, as the database knows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from whilly.core.money import Micros
from whilly.operations.count_events import Tally
from whilly.store.database import Database

MOST_TALLIES = 20_000
"""Looked at in one answer, those that changed last."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A tally and when it last changed."""

    tally: Tally
    value: float
    at: datetime


@dataclass(frozen=True, slots=True)
class PlanMoney:
    """What a plan may spend and has spent."""

    id: str
    created_at: datetime
    budget: Micros | None
    spent: Micros
    reserved: Micros
    daily_budget: Micros | None
    spent_today: Micros
    plans: int
    """How many plans there are in all."""


@dataclass(frozen=True, slots=True)
class PlanQueue:
    """What of a plan waits to be claimed."""

    id: str
    pending: int
    age_seconds: float
    """How long the task has been claimable that has been so the longest."""


@dataclass(frozen=True, slots=True)
class System:
    """What concerns no plan in particular."""

    workers_online: int
    events: int
    pending_events: int
    """Committed without a position so far; counted up to 10,000."""
    lag_seconds: float
    """Age of the oldest of those."""
    counted: int
    """The position up to which the log is counted."""


async def read_tallies(database: Database) -> list[Counted]:
    """Up to MOST_TALLIES of them, those that changed last first."""
    rows = await database.read("latest_tallies", MOST_TALLIES)
    return [Counted((row["name"], tuple(row["labels"])), row["value"], row["at"]) for row in rows]


async def read_money(database: Database, plans: Sequence[str], newest: int) -> list[PlanMoney]:
    """The money of the given plans that still exist, and of the newest ones."""
    return [
        PlanMoney(
            id=row["id"],
            created_at=row["created_at"],
            budget=row["budget_micros"],
            spent=row["spent_micros"],
            reserved=row["reserved_micros"],
            daily_budget=row["daily_budget_micros"],
            spent_today=row["spent_today_micros"],
            plans=row["plans"],
        )
        for row in await database.read("metrics_of_plans", list(plans), newest)
    ]


async def read_queues(database: Database, plans: Sequence[str]) -> list[PlanQueue]:
    """What waits in each of the plans: counted, so this takes half a second for a million tasks."""
    rows = await database.read("metrics_of_queue", list(plans))
    return [PlanQueue(row["id"], row["pending"], row["age_seconds"]) for row in rows]


async def read_system(database: Database) -> System:
    """What concerns no plan in particular."""
    (row,) = await database.read("metrics_of_system")
    return System(row["workers_online"], row["events"], row["pending_events"], row["lag_seconds"], row["counted"])
