"""Plan files for tests, with only what matters spelled out."""

import json
from typing import Any

from whilly.core.plan import Plan
from whilly.planfile.limits import Limits
from whilly.planfile.reader import Reading, read_plan


def a_task(task: Any = "T1", **more: Any) -> dict[str, Any]:
    """A task with the four required keys."""
    return {"id": task, "status": "PENDING", "priority": "high", "description": "Write the parser.", **more}


def a_document(*tasks: Any, **more: Any) -> dict[str, Any]:
    """A plan with a name and an id."""
    return {"project": "Toy", "plan_id": "toy", "tasks": list(tasks), **more}


def text_of(document: Any) -> str:
    """As a person would write it: a key or a value on each line."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def reading_of(document: Any, **limits: int) -> Reading:
    """Read a document, JSON text or bytes as `plan.json`."""
    text = document if isinstance(document, str | bytes) else text_of(document)
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    return read_plan(data, "plan.json", limits=Limits(**limits))


def plan_of(document: Any) -> Plan:
    """The plan in a file that has no problems."""
    reading = reading_of(document)
    assert reading.problems == ()
    assert reading.plan is not None
    return reading.plan


def problems_of(document: Any, **limits: int) -> list[str]:
    """The problems as printed, in a file that has some."""
    reading = reading_of(document, **limits)
    assert reading.plan is None
    assert reading.problems
    return [str(problem) for problem in reading.problems]


def notes_of(document: Any) -> list[str]:
    """The notes as printed, of a file without problems."""
    reading = reading_of(document)
    assert reading.problems == ()
    return [str(note) for note in reading.notes]
