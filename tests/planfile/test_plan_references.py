"""How tasks refer to each other."""

import itertools
import time
from typing import Any

import pytest

from tests.planfile.plan_texts import a_document, a_task, plan_of, problems_of, reading_of


def linked(**dependencies: list[Any]) -> dict[str, Any]:
    """A plan of tasks named by the keywords, with these dependencies."""
    return a_document(*(a_task(task, dependencies=needs) for task, needs in dependencies.items()))


def whats(document: Any) -> list[str]:
    return [problem.what for problem in reading_of(document).problems]


def test_a_diamond_is_fine() -> None:
    assert plan_of(linked(A=["B", "C"], B=["D"], C=["D"], D=[]))


def test_the_whole_loop_is_printed() -> None:
    assert problems_of(linked(A=["B"], B=["C"], C=["A"], D=["A"])) == [
        "plan.json:10: A: The tasks wait for each other in a loop: A → B → C → A. Remove one of these dependencies."
    ]


def test_every_loop_is_told_together_with_everything_else() -> None:
    assert whats(linked(A=["B"], B=["A"], X=["Y", "gone"], Y=["X"], Z=["Z"])) == [
        "The tasks wait for each other in a loop: A → B → A",
        "The tasks wait for each other in a loop: X → Y → X",
        'The dependency "gone" is not a task of this plan',
        'The task depends on itself ("Z")',
    ]


def test_an_unknown_dependency_names_both_ids_and_the_nearest() -> None:
    assert problems_of(linked(login=["T-99", "Form", "loggin"], form=[])) == [
        'plan.json:11: login: The dependency "T-99" is not a task of this plan. Add that task, or remove it.',
        'plan.json:12: login: The dependency "Form" is not a task of this plan. Write "form", or remove it.',
        'plan.json:13: login: The dependency "loggin" is not a task of this plan. Write "login", or remove it.',
    ]


def test_a_dependency_is_listed_once() -> None:
    assert whats(linked(A=["B", "B"], B=[])) == ['The dependency "B" is listed twice']


def test_a_dependency_is_a_text() -> None:
    assert whats(linked(A=[1])) == ['"dependencies" contains the number 1, which is not a text']


def test_ids_that_look_alike_are_different_or_refused() -> None:
    assert plan_of(a_document(a_task("1"), a_task("01"), a_task("1.0")))
    assert problems_of(a_document(a_task("T1"), a_task("t1"), a_task("T1"))) == [
        'plan.json:12: t1: The id "t1" differs from "T1" only in case (see line 6). Give each task its own id.',
        'plan.json:18: T1: The id "T1" is already taken by another task (see line 6). Give each task its own id.',
    ]


def test_a_bad_id_is_no_unknown_dependency() -> None:
    assert whats(a_document(a_task("A B"), a_task("C", dependencies=["A B"]))) == ['The id "A B" contains a space']


@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_of_ten_thousand(closed: bool) -> None:
    names = [f"T{number}" for number in range(10_000)]
    tasks = [a_task(name, dependencies=[after]) for name, after in itertools.pairwise(names)]
    tasks.append(a_task(names[-1], dependencies=[names[0]] if closed else []))
    before = time.process_time()
    reading = reading_of(a_document(*tasks))
    assert time.process_time() - before < 3
    if closed:
        (problem,) = reading.problems
        assert problem.what.endswith(" → ".join([*names, names[0]]))
    else:
        assert reading.plan
