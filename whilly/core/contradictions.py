"""What the TRIZ preflight can find, one row each. The reference page is printed from CATEGORIES."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters; worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Category(StrEnum):
    """What kind of contradiction it is."""

    DEPENDENCY_CONTRADICTION = "dependency_contradiction"
    MISSING_DEPENDENCY_RESOURCE = "missing_dependency_resource"
    WEAK_TASK_DEFINITION = "weak_task_definition"
    DUPLICATE_WORK = "duplicate_work"
    RESOURCE_CONFLICT = "resource_conflict"
    PRIORITY_CONTRADICTION = "priority_contradiction"
    OVER_ENGINEERING_RISK = "over_engineering_risk"


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """What a category means and which principle resolves it."""

    severity: Severity
    principle: int
    """Number in the list of the forty inventive principles."""
    principle_name: str
    found_when: str
    recommendation: str


CATEGORIES: dict[Category, CategoryRow] = {
    Category.DEPENDENCY_CONTRADICTION: CategoryRow(
        Severity.CRITICAL,
        2,
        "Taking out",
        "Tasks depend on each other in a loop.",
        "Take the part that both sides need out into a task of its own, or remove one of the dependencies.",
    ),
    Category.MISSING_DEPENDENCY_RESOURCE: CategoryRow(
        Severity.HIGH,
        10,
        "Preliminary action",
        "A task depends on one that is not in the plan.",
        "Add the missing task, or remove the dependency.",
    ),
    Category.WEAK_TASK_DEFINITION: CategoryRow(
        Severity.MEDIUM,
        10,
        "Preliminary action",
        "The gate would refuse the task (`high` when its description is what is missing).",
        "Write what the gate asks for before the task runs.",
    ),
    Category.DUPLICATE_WORK: CategoryRow(
        Severity.MEDIUM,
        5,
        "Merging",
        "Open tasks of one repository have the same description.",
        "Merge them into the first one, or say what is different.",
    ),
    Category.RESOURCE_CONFLICT: CategoryRow(
        Severity.MEDIUM,
        5,
        "Merging",
        "Open tasks of one repository change the same key file, and neither depends on the other, directly or through "
        "others.",
        "Let one depend on the other, so that it starts from its result; or merge them.",
    ),
    Category.PRIORITY_CONTRADICTION: CategoryRow(
        Severity.LOW,
        10,
        "Preliminary action",
        "A task needs one with a lower priority, which other work may overtake.",
        "Give the prerequisite at least the same priority.",
    ),
    Category.OVER_ENGINEERING_RISK: CategoryRow(
        Severity.LOW,
        13,
        "The other way round",
        "The description speaks of abstraction, frameworks, generic, pluggable, future-proof or scalable things, and "
        "criteria or test steps are missing.",
        "Start from the one case that is needed now, with a criterion that shows it; generalise for the second.",
    ),
}
"""In the order of the reference page."""
