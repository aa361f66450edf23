"""The JSON Schema, the reader and the documentation say the same."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.planfile.plan_strategies import plans
from tests.planfile.plan_texts import a_document, a_task, plan_of, reading_of
from whilly.core.plan import Plan
from whilly.planfile.canonical import export_plan
from whilly.planfile.schema import json_schema

PAGE = (Path(__file__).parents[2] / "docs/reference/plan-format.md").read_text(encoding="utf-8")
validators: Any = importlib.import_module("jsonschema").Draft202012Validator
VALIDATOR = validators(json_schema())

UNIT = {"name": "unit", "command": "pytest"}
SHOP = {"id": "shop", "provider": "github", "repo": "acme/shop"}


def mistakes_by_schema(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one() -> None:
    validators.check_schema(json_schema())


def test_the_page_shows_the_schema() -> None:
    assert f"```json\n{json.dumps(json_schema(), indent=2, ensure_ascii=False)}\n```" in PAGE


@pytest.mark.parametrize("kind", [None, "task", "check", "repo_target", "origin"])
def test_every_key_is_described_on_the_page(kind: str | None) -> None:
    schema = json_schema()["$defs"][kind] if kind else json_schema()
    for key, value in schema["properties"].items():
        assert re.search(rf"^\| `{re.escape(key)}` \|.*{re.escape(value['description'])}", PAGE, re.MULTILINE)


def test_the_examples_on_the_page_are_plans() -> None:
    examples = [block for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if '"$defs"' not in block]
    assert len(examples) == 2
    for example in examples:
        reading = reading_of(example)
        assert reading.problems == ()
        assert mistakes_by_schema(json.loads(example)) == []


@settings(max_examples=50, deadline=None)
@given(plans())
def test_every_export_fits_the_schema(plan: Plan) -> None:
    assert mistakes_by_schema(json.loads(export_plan(plan))) == []


@pytest.mark.parametrize(
    "document",
    [
        a_document(),
        {"project": "x", "tasks": []},
        {"plan_id": "x", "tasks": [], "unheard_of": 1},
        a_document(a_task(status="done", priority="LOW", review="Result".lower(), checks=[UNIT], version=1)),
        a_document(a_task(agent=None, review=None, budget_usd=None, dependencies=None, checks=None)),
        a_document(repo_targets=[SHOP], origin={"type": "jira", "external_ref": "P-1"}, budget_usd="2.50"),
    ],
)
def test_what_fits_the_schema_is_read(document: Any) -> None:
    assert mistakes_by_schema(document) == []
    assert plan_of(document)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"tasks": []},
        {"project": "x"},
        a_document({"id": "T1"}),
        a_document(a_task(1)),
        a_document(a_task("a b")),
        a_document(a_task("x" * 65)),
        a_document(a_task(status="open")),
        a_document(a_task(priority=1)),
        a_document(a_task(review=True)),
        a_document(a_task(dependencies="T2")),
        a_document(a_task(dependencies=[1])),
        a_document(a_task(version=True)),
        a_document(a_task(timeout_minutes=0)),
        a_document(a_task(timeout_minutes=2.5)),
        a_document(budget_usd=-1),
        a_document(budget_usd="$5"),
        a_document(budget_usd=True),
        a_document(budget_usd=2_000_000_000),
        a_document(checks=["pytest"]),
        a_document(checks=[{"name": "unit"}]),
        a_document(checks=[{**UNIT, "required": 1}]),
        a_document(checks=[{**UNIT, "repair_max_attempts": 11}]),
        a_document(repo_targets=[{"id": "shop", "provider": "github"}]),
        a_document(origin={"system": "jira"}),
    ],
)
def test_what_the_schema_refuses_is_refused(document: Any) -> None:
    assert mistakes_by_schema(document)
    assert reading_of(document).plan is None
