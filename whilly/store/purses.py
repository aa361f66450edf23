"""The money columns of a plan in, `core.budget.Purse` out."""

from typing import Any

from whilly.core.budget import Purse


def purse_from(row: Any) -> Purse:
    """The money of a plan from a row that names its columns `plan_…`, for beside them there may be a task's."""
    return Purse(
        budget=row["plan_budget_micros"],
        spent=row["plan_spent_micros"],
        reserved=row["plan_reserved_micros"],
        daily_budget=row["plan_daily_budget_micros"],
        spent_today=row["plan_spent_today_micros"],
    )
