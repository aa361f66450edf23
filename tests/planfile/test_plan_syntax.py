"""Files that are no JSON, or JSON of a kind that a careless reader would take for something else."""

import json

import pytest

from tests.planfile.plan_texts import a_document, a_task, notes_of, plan_of, problems_of, reading_of, text_of

VALID = text_of(a_document(a_task("T1"), a_task("T2", dependencies=["T1"])))
TRUNCATED = "Copy or write it again; nothing was taken from it."


def test_all_mistakes_are_told_at_once_with_their_lines() -> None:
    text = """{
  "project": "Toy",
  "plan_id": "toy",
  "tasks": [
    {"id": "T1", "status": "PENDING", "priority": "high", "description": "Parse."},
    {"id": "T2", "status": "OPEN", "priority": "urgent", "description": 5,
     "dependencies": ["T9"]},
    {"id": "T 3", "status": "PENDING", "priority": "low"}
  ],
}
"""
    assert problems_of(text) == [
        'plan.json:6: T2: "description" is the number 5, not a text. Write it in quotes: "5".',
        'plan.json:6: T2: "priority" is the text "urgent", not one of the words it can be. '
        "Write one of critical, high, medium, low.",
        'plan.json:6: T2: "status" is the text "OPEN", not one of the words it can be. '
        "Write one of pending, claimed, in_progress, human_loop, blocked, done, failed, skipped.",
        'plan.json:7: T2: The dependency "T9" is not a task of this plan. Add that task, or remove it.',
        'plan.json:8: T 3: "description" is missing. Add "description": "What to do".',
        'plan.json:8: T 3: The id "T 3" contains a space. Write "T-3".',
        'plan.json:9: A trailing comma stands before "}". Remove the comma.',
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "The file is empty, so it is not JSON"),
        (b" \n\t ", "The file is empty, so it is not JSON"),
        (b"\0" * 100, "The file consists of NUL bytes only, so it is not JSON"),
        (b"plan:\n  - a\n", 'This is not JSON: it begins with "plan:"'),
        (b"\x80\x81\x82", "The byte 0x80 at byte offset 0 is not UTF-8"),
        (VALID.encode("utf-16"), "The file is encoded as UTF-16, not as UTF-8"),
        (VALID.encode("utf-16-le"), "The file is encoded as UTF-16, not as UTF-8"),
        (VALID.encode("utf-16-be"), "The file is encoded as UTF-16, not as UTF-8"),
        (VALID.encode("utf-32"), "The file is encoded as UTF-32, not as UTF-8"),
        (b"42", "The file is the number 42, not an object"),
        (b'"plan"', 'The file is the text "plan", not an object'),
        (b"null", "The file is null, not an object"),
        (b"{'tasks': []}", "\"'tasks': []}\" is in single quotes, which is not JSON"),
        (b"{tasks: []}", 'This is not JSON: "tasks: []}" stands where a key is expected'),
        (b'{"tasks" []}', 'This is not JSON: "[]}" stands where a colon is expected'),
        (b'{"tasks": [}', 'This is not JSON: "}" stands where a value is expected'),
        (b'{"tasks": [1}', 'This is not JSON: "}" stands where the list or object goes on or ends'),
        (b'{"a": "say "hi" now"}', 'This is not JSON: "hi\\" now\\"}" stands where the list or object goes on or ends'),
        (b'{"a": "one\ntwo"}', "A text is not closed at the end of its line"),
        (b'{"tasks": []} {', "This is not JSON: something follows the end of the plan on line 1"),
        (b"{\n<<<<<<< HEAD\n", 'Git left a conflict here ("<<<<<<<")'),
        (b'{"a": 1 /* no end', "A comment is never closed, and JSON has no comments"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data: bytes, expected: str) -> None:
    reading = reading_of(data)
    assert reading.plan is None
    assert [problem.what for problem in reading.problems] == [expected]


@pytest.mark.parametrize(
    ("wrong", "right", "expected"),
    [
        (',"z": 1,}', "}", 'A trailing comma stands before "}"'),
        (',"z": [1,]}', ',"z": [1]}', 'A trailing comma stands before "]"'),
        (',,"z": 1}', ',"z": 1}', "There is a comma too many"),
        (',"z": [1,,2]}', ',"z": [1,2]}', "There is a comma too many"),
        (' "z": 1}', ',"z": 1}', 'A comma is missing before "\\"z\\": 1}"'),
        ('\n"z": 1}', ',\n"z": 1}', 'A comma is missing before "\\"z\\": 1}"'),
        (',"z": True}', ',"z": true}', "True is not JSON"),
        (',"z": None}', ',"z": null}', "None is not JSON"),
        (" // the end\n}", "}", "JSON has no comments"),
        (" /* the\nend */}", "}", "JSON has no comments"),
        (" # the end\n}", "}", "JSON has no comments"),
        (',"z": "a\tb"}', ',"z": "ab"}', "The control character U+0009 stands inside a text"),
        (',"z": "a\0b"}', ',"z": "ab"}', "A NUL byte stands here"),
        (',"z": "C:\\dir"}', ',"z": "C:/dir"}', '"\\\\dir\\"}" is no escape that JSON knows'),
        (',"z": "\\u12G4"}', ',"z": "x"}', '"\\\\u12G4\\"}" is no escape that JSON knows'),
        ("\0}", "}", "A NUL byte stands here"),
    ],
)
def test_a_mistake_of_syntax_does_not_hide_the_others(wrong: str, right: str, expected: str) -> None:
    head = '{"project": "Toy", "plan_id": "toy", "tasks": [], "timeout_minutes": 0'
    other = '"timeout_minutes" is the number 0, not a whole number from 1 to 10080'
    assert {problem.what for problem in reading_of(head + wrong).problems} == {expected, other}
    assert [problem.what for problem in reading_of(head + right).problems] == [other]


def test_the_same_mistake_everywhere_is_told_twenty_times() -> None:
    told = problems_of('{"tasks": [\n' + "[1,],\n" * 100 + "2]}")
    assert len(told) == 21
    assert told[0] == 'plan.json:2: A trailing comma stands before "]". Remove the comma.'
    assert told[-1] == (
        "plan.json:21: After 20 mistakes of syntax the rest was not read. Mend those first, then try again."
    )


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_and_windows_line_breaks_are_fine(line_break: str, mark: str) -> None:
    assert plan_of(mark + VALID.replace("\n", line_break)) == plan_of(VALID)
    wrong = mark + VALID.replace("T1", "T 1").replace("\n", line_break)
    assert 'plan.json:6: T 1: The id "T 1" contains a space' in problems_of(wrong)[0]


def test_a_cut_off_file_is_never_a_shorter_plan() -> None:
    tasks = [a_task(f"T{number}", description=f"Draw 🚀 number {number}.") for number in range(25)]
    data = text_of(a_document(*tasks)).encode("utf-8")
    for offset in range(1, len(data) - 1):
        reading = reading_of(data[:offset])
        assert reading.plan is None
        (problem,) = reading.problems
        assert "truncated" in problem.what
        assert f"byte offset {offset}" in problem.what


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{"a": "b', "line 1"),
        (b'{"a": "b\\', "line 1"),
        (b'{"a": "b\\u12', "before the JSON is complete"),
        (b'{"a": tru', "before the JSON is complete"),
        (b'{"a": -', "before the JSON is complete"),
        (b'{"a": 1.', "before the JSON is complete"),
        (b'{"a": 1e+', "before the JSON is complete"),
        (b'\xef\xbb\xbf{"a": 1,\r\n\r\n', "before the JSON is complete"),
        ('{"a": "🚀'.encode()[:-1], "in the middle of a character"),
        (b'Here it is:\n```json\n{"tasks": [', "inside a fenced block"),
        (b'Here it is:\n```json\n{"tasks": []}\n', "inside a fenced block"),
        (b'Loaded credentials.\n{"tasks": [', "before the JSON is complete"),
    ],
)
def test_a_truncated_file_is_named_so(data: bytes, where: str) -> None:
    (problem,) = reading_of(data).problems
    assert "truncated" in problem.what
    assert f"byte offset {len(data)}" in problem.what
    assert problem.what.endswith(where)


def test_a_byte_that_is_not_utf8_hides_no_other_mistake() -> None:
    data = text_of(a_document(a_task("T1", status="OPEN", description="caf?"))).encode().replace(b"caf?", b"caf\xe9")
    told = problems_of(data)
    assert told[1] == "plan.json:9: The byte 0xE9 at byte offset 154 is not UTF-8. Save the file as UTF-8."
    assert 'plan.json:7: T1: "status" is the text "OPEN"' in told[0]


def test_a_repeated_key_is_told_where_it_is_repeated() -> None:
    text = '{"project": "Toy", "plan_id": "toy",\n"tasks": [{"id": "T1",\n"id": "T2",\n"status": "PENDING",'
    text += ' "priority": "low", "description": "x", "z": {"k": 1,\n"k": 2}}]}'
    assert problems_of(text) == [
        'plan.json:3: T2: The key "id" stands twice in the same object. Keep one.',
        'plan.json:5: T2: The key "k" stands twice in the same object. Keep one.',
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e99999999999999999999"])
@pytest.mark.parametrize("key", ["budget_usd", "timeout_minutes", "description", "unheard_of"])
def test_what_is_no_number_is_told_once(number: str, key: str) -> None:
    text = text_of(a_document(a_task(**{key: "?"}))).replace('"?"', number)
    (told,) = problems_of(text)
    assert told.endswith(f"T1: {number} is not a number that JSON knows. Write a number, or null.")


@pytest.mark.parametrize("key", ["description", "prd_requirement", "unheard_of"])
def test_nul_and_half_characters_are_refused_anywhere(key: str) -> None:
    for escape, what in (("\\u0000", "a NUL character"), ("\\ud83d", "half a character (\\ud83d)")):
        (told,) = problems_of(text_of(a_document(a_task(**{key: "a?"}))).replace("a?", f"a{escape}"))
        assert "T1: The text " in told
        assert what in told
    whole = text_of(a_document(a_task(**{key: "a?"}))).replace("a?", "a\\ud83d\\ude80 \\\\u0000")
    assert plan_of(whole)


def test_an_id_with_a_nul_is_told_once() -> None:
    assert len(problems_of(text_of(a_document(a_task("T?"))).replace("T?", "T\\u0000"))) == 1


def test_deep_nesting_is_refused_quickly() -> None:
    sentence = "Lists and objects are nested deeper than 20 levels. A plan needs five; flatten it."
    for data in ("[" * 100_000, '{"a":' * 100_000, '{"tasks": [' + "[" * 100_000):
        assert problems_of(data) == [f"plan.json:1: {sentence}"]
    for depth in (21, 100, 900):
        nested = (
            '{"project": "Toy", "plan_id": "toy", "tasks": [],\n"z": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
        )
        assert problems_of(nested) == [f"plan.json:2: {sentence}"]
    fine = '{"project": "Toy", "plan_id": "toy", "tasks": [], "z": ' + "[" * 19 + "]" * 19 + "}"
    assert plan_of(fine)


def test_a_file_over_the_limit_is_not_looked_at() -> None:
    assert problems_of(VALID, file_bytes=100) == [
        "plan.json:1: The file is larger than 100 bytes, the most that is read. Split the plan, or raise the limit."
    ]
    assert reading_of(VALID, file_bytes=len(VALID)).plan


class TestProseAround:
    def test_one_fenced_block_is_the_plan(self) -> None:
        chatty = f"Sure, here is the plan!\n\n```json\n{VALID}```\n\nHope this helps {{really}}\n"
        assert plan_of(chatty) == plan_of(VALID)
        assert notes_of(chatty) == [
            "plan.json:4: The plan is the fenced block that begins on line 4; the text around it was left out. "
            "Keep only the JSON."
        ]

    @pytest.mark.parametrize("marks", ["```", "~~~", "````"])
    @pytest.mark.parametrize("language", ["", "JSON", " json title=plan"])
    def test_fences_of_all_kinds(self, marks: str, language: str) -> None:
        assert plan_of(f"{marks}{language}\r\n{VALID}{marks}\r\n") == plan_of(VALID)

    def test_lines_are_those_of_the_file(self) -> None:
        told = problems_of(f"Here:\n```json\n{VALID.replace('T1', 'T 1', 1)}```\n")
        assert told[0].startswith("plan.json:8: T 1: ")

    def test_two_blocks_are_ambiguous(self) -> None:
        second = VALID.count("\n") + 4
        assert problems_of(f"```json\n{VALID}```\nor\n```\n{VALID}```\n") == [
            f"plan.json:{second}: The plan is ambiguous: 2 fenced blocks, the first two on lines 1 and {second}. "
            "Keep only one of them."
        ]

    def test_a_block_of_something_else_does_not_count(self) -> None:
        assert plan_of(f"```bash\npip install toy\n```\n```json\n{VALID}```\n") == plan_of(VALID)

    def test_fences_inside_a_text_stay(self) -> None:
        text = 'Run:\n```json\n{"a": 1}\n```\nand see.'
        document = a_document(a_task(description=text))
        assert plan_of(document).tasks[0].description == text
        assert plan_of(f"Hi\n```json\n{text_of(document)}```\n").tasks[0].description == text

    def test_a_log_line_ahead_of_the_json_is_left_out(self) -> None:
        noisy = f"Loaded cached credentials.\n{VALID}\nDone in 3 s.\n"
        assert plan_of(noisy) == plan_of(VALID)
        assert "text around it was left out" in notes_of(noisy)[0]
        assert plan_of(f"[info] loading\n{VALID}") == plan_of(VALID)

    @pytest.mark.parametrize("rest", ["}", '{"id": "T3"}', ", more", "\n]}", '\n"T9"', "x"])
    def test_nothing_may_follow_that_could_belong_to_the_plan(self, rest: str) -> None:
        for before in ("", "Loaded cached credentials.\n"):
            (told,) = problems_of(before + VALID.strip() + rest)
            assert "something follows the end of the plan" in told

    def test_a_file_that_begins_as_json_is_json_to_its_end(self) -> None:
        (told,) = problems_of(f"{VALID}Hope this helps!\n")
        assert told == (
            f"plan.json:{VALID.count(chr(10)) + 1}: This is not JSON: something follows the end of the plan on line "
            f"{VALID.count(chr(10))}. Remove it, or the bracket that ends the plan too early."
        )


class TestWrappers:
    def test_the_path_of_the_unexpected_key_is_named(self) -> None:
        told = problems_of({"master": {"tasks": [a_task(status="OPEN")]}})
        assert told[0] == (
            'plan.json:2: The tasks stand under the unexpected key "master" ("master.tasks"). '
            'Remove the wrapper "master", so that "tasks" and "project" stand at the top.'
        )
        assert 'plan.json:6: T1: "status" is the text "OPEN"' in told[1]
        assert len(told) == 2

    def test_also_when_it_is_deeper(self) -> None:
        assert '"data.plan.tasks"' in problems_of({"data": {"plan": a_document(a_task())}, "ok": True})[0]

    def test_several_are_all_named(self) -> None:
        told = problems_of({"master": {"tasks": []}, "feature": {"tasks": []}})
        assert [("master" in told[0]), ("feature" in told[1])] == [True, True]

    def test_a_list_of_tasks_is_read_to_its_end(self) -> None:
        told = problems_of([a_task(), a_task(5)])
        assert told == [
            'plan.json:1: The file is a list, not an object. Put the list into a plan: {"project": "…", "tasks": […]}.',
            'plan.json:9: tasks[1]: "id" is the number 5, not a text. Write it in quotes: "5".',
        ]


def test_a_source_that_cannot_be_shown_breaks_no_line() -> None:
    document = a_document(a_task("T\x1b[31m\n1"), **{"k\ney": 1})
    reading = reading_of(json.dumps(document))
    for problem in (*reading.problems, *reading.notes):
        assert str(problem).isprintable()
