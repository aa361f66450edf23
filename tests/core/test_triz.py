import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.contradictions import CATEGORIES, Category, Severity
from whilly.core.plan import Plan, Priority, Status, TaskSpec
from whilly.core.triz import Judgement, Preflight, preflight


def task(name: str, *needs: str, files: tuple[str, ...] = (), **more: Any) -> TaskSpec:
    return replace(
        TaskSpec(
            name,
            f"Add the part of the parser that belongs to {name}.",
            dependencies=needs,
            key_files=files,
            acceptance_criteria=(f"{name} parses '1+2'",),
            test_steps=("python -m pytest -q",),
        ),
        **more,
    )


def look(*tasks: TaskSpec) -> Preflight:
    return preflight(Plan("toy", "Toy parser", tasks))


def found(result: Preflight) -> list[tuple[Category, Severity, tuple[str, ...]]]:
    return [(finding.category, finding.severity, finding.task_ids) for finding in result.findings]


def test_a_good_plan_is_approved() -> None:
    result = look(task("A"), task("B", "A"))
    assert (result.verdict, result.ideality_score, result.findings) == (Judgement.APPROVE, 1.0, ())
    assert result.summary == "Nothing stands against this plan."


def test_an_empty_plan_has_nothing_against_it() -> None:
    assert look().as_json() == {
        "plan_id": "toy",
        "task_count": 0,
        "verdict": "approve",
        "ideality_score": 1.0,
        "findings": [],
        "mergeable_groups": [],
        "removable_tasks": [],
        "summary": "Nothing stands against this plan.",
    }


def test_a_loop_rejects_the_plan_and_is_shown_whole() -> None:
    result = look(task("A", "C"), task("B", "A"), task("C", "B"), task("D"))
    assert result.verdict is Judgement.REJECT
    assert found(result) == [(Category.DEPENDENCY_CONTRADICTION, Severity.CRITICAL, ("A", "C", "B"))]
    assert "A → C → B → A" in result.findings[0].title
    assert result.ideality_score == 0.67


def test_a_task_that_needs_itself_is_a_loop() -> None:
    assert found(look(task("A", "A"))) == [(Category.DEPENDENCY_CONTRADICTION, Severity.CRITICAL, ("A",))]


def test_a_diamond_is_none() -> None:
    assert look(task("A"), task("B", "A"), task("C", "A"), task("D", "B", "C")).verdict is Judgement.APPROVE


def test_a_dependency_that_is_not_there_is_named() -> None:
    result = look(task("A", "T-99", "T-99"))
    assert found(result) == [(Category.MISSING_DEPENDENCY_RESOURCE, Severity.HIGH, ("A",))]
    assert "T-99" in result.findings[0].title
    assert result.verdict is Judgement.REVISE


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({"description": "Fix it"}, Severity.HIGH),
        ({"description": "TODO: description of the task"}, Severity.HIGH),
        ({"acceptance_criteria": ()}, Severity.MEDIUM),
        ({"test_steps": (" ",)}, Severity.MEDIUM),
    ],
)
def test_what_the_gate_refuses_is_weak(change: dict[str, Any], severity: Severity) -> None:
    result = look(task("A", **change), task("B", status=Status.DONE, **change))
    assert found(result) == [(Category.WEAK_TASK_DEFINITION, severity, ("A",))]
    assert "characters" in result.findings[0].recommendation or "Write" in result.findings[0].recommendation


def test_equal_descriptions_can_be_merged_and_the_later_ones_removed() -> None:
    words = "Add the tokenizer for numbers and operators."
    result = look(task("A", description=words), task("B"), task("C", "A", description=words.upper() + "!"))
    assert found(result) == [(Category.DUPLICATE_WORK, Severity.MEDIUM, ("A", "C"))]
    assert result.mergeable_groups == (("A", "C"),)
    assert result.removable_tasks == ("C",)


def test_equal_descriptions_for_two_repositories_are_two_tasks() -> None:
    words = "Update the licence header in every source file."
    assert look(task("A", description=words, repo_target_id="web"), task("B", description=words)).findings == ()


def test_sharing_a_file_in_no_order_is_a_conflict() -> None:
    result = look(task("A", files=("toy/a.py",)), task("B", files=("./toy//a.py", "toy/b.py")))
    assert found(result) == [(Category.RESOURCE_CONFLICT, Severity.MEDIUM, ("A", "B"))]
    assert result.findings[0].title == "A and B change toy/a.py in no order."
    assert result.verdict is Judgement.REVISE
    assert result.mergeable_groups == ()


def test_tasks_with_exactly_the_same_files_can_be_merged() -> None:
    result = look(task("A", files=("a", "b")), task("B", files=("b", "a")), task("C", files=("a",)))
    assert result.mergeable_groups == (("A", "B"),)
    assert result.removable_tasks == ()


@pytest.mark.parametrize(
    "tasks",
    [
        (task("A", files=("x",)), task("B", "A", files=("x",))),
        (task("A", files=("x",)), task("M", "A"), task("N", "M"), task("B", "N", files=("x",))),
        (task("B", "M", files=("x",)), task("M", "A"), task("A", files=("x",))),
        (task("A", files=("x",), status=Status.DONE), task("B", files=("x",))),
        (task("A", files=("x",), repo_target_id="web"), task("B", files=("x",), repo_target_id="api")),
        (task("A", files=("x", "x")),),
    ],
)
def test_sharing_a_file_in_order_is_none(tasks: tuple[TaskSpec, ...]) -> None:
    assert look(*tasks).findings == ()


def test_only_those_that_are_in_no_order_are_named() -> None:
    result = look(
        task("A", files=("x",)),
        task("B", "A", files=("x",)),
        task("C", "A", files=("x",)),
        task("D", "B", "C", files=("x",)),
    )
    assert found(result) == [(Category.RESOURCE_CONFLICT, Severity.MEDIUM, ("B", "C"))]


def test_an_important_task_that_waits_for_an_unimportant_one_is_a_small_contradiction() -> None:
    tasks = (task("A", priority=Priority.LOW), task("B", "A", priority=Priority.CRITICAL))
    result = look(*tasks)
    assert found(result) == [(Category.PRIORITY_CONTRADICTION, Severity.LOW, ("B", "A"))]
    assert result.verdict is Judgement.APPROVE
    assert "B is critical, but needs A, which is only low." in result.findings[0].title
    assert look(replace(tasks[0], status=Status.DONE), tasks[1]).findings == ()


@pytest.mark.parametrize("words", ["a pluggable framework", "generic abstractions", "масштабируемый фреймворк"])
def test_grand_words_without_proof_are_a_risk(words: str) -> None:
    grand = task("A", description=f"Build {words} for the parser.")
    assert look(grand).findings == ()
    result = look(replace(grand, test_steps=()))
    assert (Category.OVER_ENGINEERING_RISK, Severity.LOW, ("A",)) in found(result)


def test_the_worst_comes_first_and_the_score_falls_by_weight() -> None:
    result = look(
        task("A", "A"),
        task("B", "T-99"),
        task("C", acceptance_criteria=()),
        task("D"),
        task("E", "D", priority=Priority.HIGH),
    )
    assert [finding.severity for finding in result.findings] == list(Severity)
    assert result.ideality_score == 0.5
    assert result.summary == (
        "4 findings (1 critical, 1 high, 1 medium, 1 low): the plan cannot run as it is. Ideality 0.50."
    )


def test_the_score_never_falls_below_nothing() -> None:
    assert look(task("A", "A", "T-1", "T-2", "T-3")).ideality_score == 0.0


def test_programs_get_plain_json() -> None:
    result = look(task("A", files=("x",)), task("B", files=("x",))).as_json()
    assert json.loads(json.dumps(result)) == result
    assert result["findings"] == [
        {
            "severity": "medium",
            "category": "resource_conflict",
            "task_ids": ["A", "B"],
            "title": "A and B change x in no order.",
            "recommendation": CATEGORIES[Category.RESOURCE_CONFLICT].recommendation,
            "triz_principle": {"number": 5, "name": "Merging"},
        }
    ]
    assert result["mergeable_groups"] == [["A", "B"]]


@given(st.lists(st.sampled_from("ABCDEF"), unique=True), st.data())
def test_any_plan_gets_the_same_answer_twice(names: list[str], data: st.DataObject) -> None:
    tasks = [
        task(
            name,
            *data.draw(st.lists(st.sampled_from("ABCDEFG"), max_size=3)),
            files=tuple(data.draw(st.lists(st.sampled_from("xy"), max_size=2))),
        )
        for name in names
    ]
    result = look(*tasks)
    assert result == look(*tasks)
    assert 0.0 <= result.ideality_score <= 1.0
    assert (result.verdict is Judgement.REJECT) == any(f.severity is Severity.CRITICAL for f in result.findings)


def test_every_category_has_a_row() -> None:
    assert list(CATEGORIES) == list(Category)


@pytest.mark.parametrize("shape", ["one file for all", "a thousand files", "one chain"])
def test_ten_thousand_tasks_are_no_reason_to_wait(shape: str) -> None:
    many = tuple(
        task(
            f"T{number}",
            *([f"T{number - 1}"] if number and shape == "one chain" else []),
            files=(f"toy/{number % 1000 if shape == 'a thousand files' else 0}.py",),
        )
        for number in range(10_000)
    )
    start = time.process_time()
    result = preflight(Plan("toy", "Toy parser", many))
    assert time.process_time() - start < 5
    assert len(result.findings) == {"one file for all": 1, "a thousand files": 1000, "one chain": 0}[shape]
