"""What is written is what is read, byte for byte."""

import json
import time

from hypothesis import given, settings

from tests.planfile.plan_strategies import plans
from tests.planfile.plan_texts import a_document, a_task, plan_of, reading_of
from whilly.core.plan import Plan
from whilly.planfile.canonical import export_plan

CANONICAL = """{
  "budget_usd": 2.5,
  "plan_id": "toy",
  "project": "Töy \\"parser\\"",
  "tasks": [
    {
      "acceptance_criteria": [
        "It parses."
      ],
      "dependencies": [],
      "description": "Parse 🚀.\\nThen test.",
      "id": "T1",
      "key_files": [
        "src/x.py"
      ],
      "prd_requirement": "",
      "priority": "high",
      "review": "none",
      "status": "DONE",
      "test_steps": [],
      "verification_commands": [
        {
          "command": "pytest",
          "name": "unit",
          "repair_max_attempts": 1,
          "required": true,
          "source": "profile",
          "timeout_seconds": 600
        }
      ]
    }
  ]
}
"""


def test_an_export_looks_like_this() -> None:
    task = a_task(
        description="Parse 🚀.\nThen test.",
        status="done",
        key_files=["src\\x.py"],
        acceptance_criteria=["It parses."],
        review="NONE",
        checks=[{"name": "unit", "command": "pytest"}],
    )
    plan = plan_of(a_document(task, project='Töy "parser"', budget_usd="2.50"))
    assert export_plan(plan) == CANONICAL
    assert plan_of(CANONICAL) == plan


@settings(max_examples=60, deadline=None)
@given(plans())
def test_reading_an_export_gives_the_same_plan(plan: Plan) -> None:
    text = export_plan(plan)
    reading = reading_of(text)
    assert reading.problems == ()
    assert reading.notes == ()
    assert reading.plan == plan
    assert export_plan(reading.plan) == text
    if '"budget_usd"' not in text:  # The standard library would write another number of digits.
        assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_ten_thousand_tasks_are_read_and_written_quickly() -> None:
    tasks = [
        a_task(
            f"T{number}",
            description=f"Write part {number} of the parser, and explain it well. " * 5,
            dependencies=[f"T{earlier}" for earlier in (number - 1, number - 7) if earlier >= 0],
            key_files=[f"src/part{number}.py"],
            acceptance_criteria=["It parses.", "It is explained."],
        )
        for number in range(10_000)
    ]
    data = json.dumps(a_document(*tasks)).encode()
    begun = time.process_time()
    reading = reading_of(data)
    read = time.process_time()
    assert reading.plan
    export_plan(reading.plan)
    written = time.process_time()
    assert read - begun < 1
    assert written - read < 1
