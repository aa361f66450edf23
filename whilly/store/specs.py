"""What plans and tasks ask for, to and from the JSON columns."""

from typing import Any, TypeVar

import msgspec

from whilly.core.plan import Check, Origin, Plan, RepoTarget, Review, TaskSpec

Value = TypeVar("Value")


def to_json(value: object) -> str:
    """JSON of a dataclass, a tuple of them, or plain data."""
    return msgspec.json.encode(value).decode()


def from_json(kind: type[Value], text: str) -> Value:
    """The value that the JSON describes; unknown keys are ignored, so that an older program reads a newer row."""
    return msgspec.json.decode(text, type=kind)


def spec_from(text: str) -> TaskSpec:
    """The description of a task."""
    return from_json(TaskSpec, text)


def checks_from(text: str) -> tuple[Check, ...]:
    """The checks of a plan."""
    return from_json(tuple[Check, ...], text) if text != "[]" else ()


def plan_from(row: Any, specs: tuple[TaskSpec, ...]) -> Plan:
    """A plan from its row and the descriptions of its tasks, in plan order."""
    return Plan(
        id=row["id"],
        project=row["project"],
        tasks=specs,
        checks=checks_from(row["checks"]),
        budget=row["budget_micros"],
        daily_budget=row["daily_budget_micros"],
        agent=row["agent"],
        timeout_minutes=row["timeout_minutes"],
        review=Review(row["review"]),
        origin=from_json(Origin, row["origin"]) if row["origin"] else None,
        repo_targets=from_json(tuple[RepoTarget, ...], row["repo_targets"]),
        worker_tags=tuple(row["worker_tags"]),
        isolation=row["isolation"],
    )
