"""Whatever the bytes are, reading gives a plan or problems, and never an exception or less than what is there."""

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.planfile.plan_strategies import plans
from tests.planfile.plan_texts import a_document, a_task, reading_of, text_of
from whilly.core.plan import Plan
from whilly.planfile.canonical import export_plan
from whilly.planfile.reader import Reading
from whilly.planfile.schema import CHECK_KEYS, ORIGIN_KEYS, PLAN_KEYS, REPO_TARGET_KEYS, TASK_KEYS

VALID = text_of(a_document(a_task("T1"), a_task("T2", dependencies=["T1"], key_files=["é.py"])))
KEYS = sorted(PLAN_KEYS | TASK_KEYS | CHECK_KEYS | REPO_TARGET_KEYS | ORIGIN_KEYS)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["PENDING", "high", "T1", "T2", "none", "5", "a/b", "\0", "\ud83d"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=6),
    max_leaves=25,
)
TASKS = st.fixed_dictionaries(
    {"id": st.sampled_from(["T1", "T2", "t1"]) | VALUES}, optional=dict.fromkeys(sorted(TASK_KEYS - {"id"}), VALUES)
)
DOCUMENTS = st.fixed_dictionaries(
    {"tasks": st.lists(TASKS, max_size=4)}, optional=dict.fromkeys(sorted(PLAN_KEYS - {"tasks"}), VALUES)
)
MARKS = ["{", "}", "[", "]", ",", ":", '"', "\\", "\\u00", "//", "/*", "True", "NaN", "1e", "-"]
NAMES = ['"tasks"', '"id"', '"T1"', "x"]
BREAKS = ["\n", "\r\n", "\0", "\t", " ", "\ufeff", "{\n", "```json\n", "```\n", "0" * 5_000, VALID]
PIECES = st.lists(st.sampled_from([*MARKS, *NAMES, *BREAKS]), max_size=30).map("".join)


def sound(reading: Reading) -> Reading:
    """What must hold for every reading."""
    assert (reading.plan is None) == bool(reading.problems)
    for problem in (*reading.problems, *reading.notes):
        assert problem.line >= 1
        assert str(problem).isprintable()
        assert not problem.what.endswith(".")
        assert problem.remedy.endswith(".")
    assert [p.line for p in reading.problems] == sorted(p.line for p in reading.problems)
    return reading


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"\xff\xfe")
@example(b"[")
@example(b'{"\\')
def test_any_bytes(data: bytes) -> None:
    sound(reading_of(data))


@given(PIECES)
def test_any_pieces_of_json(text: str) -> None:
    sound(reading_of(text.encode("utf-8")))


@settings(deadline=None)
@given(DOCUMENTS | VALUES)
def test_any_values(document: Any) -> None:
    text = json.dumps(document, indent=1)
    reading = sound(reading_of(text))
    last = text.count("\n") + 1
    assert all(problem.line <= last for problem in reading.problems)
    if reading.plan is not None:
        assert len(reading.plan.tasks) == len(document["tasks"])
        assert sound(reading_of(export_plan(reading.plan))).plan == reading.plan


@given(st.data())
def test_a_valid_plan_with_one_byte_changed(data: st.DataObject) -> None:
    original = VALID.encode("utf-8")
    position = data.draw(st.integers(0, len(original) - 1))
    change = data.draw(st.binary(max_size=2))
    reading = sound(reading_of(original[:position] + change + original[position + 1 :]))
    assert reading.plan is None or len(reading.plan.tasks) == 2


@settings(max_examples=50, deadline=None)
@given(plans(), st.data())
def test_a_plan_that_is_cut_off_is_no_plan(plan: Plan, data: st.DataObject) -> None:
    whole = export_plan(plan).encode("utf-8")
    for offset in data.draw(st.lists(st.integers(1, len(whole) - 2), max_size=20)):
        reading = sound(reading_of(whole[:offset]))
        (problem,) = reading.problems
        assert "truncated" in problem.what
        assert f"byte offset {offset}" in problem.what
    fenced = b"Here you are:\n\n```json\n" + whole + b"```\n\nGood luck!\n"
    for offset in data.draw(st.lists(st.integers(0, len(fenced)), max_size=20)):
        reading = sound(reading_of(fenced[:offset]))
        assert reading.plan is None or reading.plan == plan
