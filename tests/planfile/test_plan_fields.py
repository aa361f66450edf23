"""What each key may hold, and what is told when it holds something else."""

from pathlib import Path
from typing import Any

import pytest

from tests.planfile.plan_texts import a_document, a_task, notes_of, plan_of, problems_of, reading_of, text_of
from whilly.core.money import from_usd
from whilly.core.plan import Check, Origin, Plan, Priority, RepoTarget, Review, Status, TaskSpec
from whilly.planfile.limits import Limits
from whilly.planfile.reader import FileUnreadable, read_plan_file


def whats(document: Any, **limits: int) -> list[str]:
    return [problem.what for problem in reading_of(document, **limits).problems]


def of_task(**more: Any) -> list[str]:
    """What is wrong with a plan of one task."""
    return whats(a_document(a_task(**more)))


def the_task(**more: Any) -> TaskSpec:
    return plan_of(a_document(a_task(**more))).tasks[0]


def test_a_full_plan_is_understood() -> None:
    unit = {
        "name": "unit",
        "command": "pytest",
        "required": False,
        "source": "cli",
        "repair_max_attempts": 0,
        "timeout_seconds": 5,
    }
    document = {
        "$schema": "plan.schema.json",
        "plan_id": "shop-1",
        "project": "The shop 🛒",
        "budget_usd": 12.5,
        "agent": "claude",
        "timeout_minutes": 30,
        "review": "Result",
        "verification_commands": [unit],
        "origin": {"type": "github", "external_ref": "acme/shop#17", "title": "Pay"},
        "repo_targets": [{"id": "shop", "provider": "github", "repo": "acme/shop", "default_branch": "main"}],
        "tasks": [
            {
                "id": "T-1",
                "status": "done",
                "priority": "Critical",
                "description": "Pay.",
                "key_files": [r"src\pay.py", "./src//pay.py", "docs/"],
                "acceptance_criteria": ["It pays.", ""],
                "test_steps": ["pytest"],
                "prd_requirement": "F1",
                "version": 3,
                "repo_target_id": "shop",
                "budget_usd": "0.30",
                "review": "before",
                "checks": [{"name": "lint", "command": "ruff check"}],
            },
            a_task("T-2", dependencies=["T-1"], agent=None, dependencies_more=None),
        ],
    }
    assert plan_of(document) == Plan(
        id="shop-1",
        project="The shop 🛒",
        budget=from_usd("12.5"),
        agent="claude",
        timeout_minutes=30,
        review=Review.RESULT,
        checks=(Check("unit", "pytest", required=False, source="cli", repair_max_attempts=0, timeout_seconds=5),),
        origin=Origin("github", "acme/shop#17", title="Pay"),
        repo_targets=(RepoTarget("shop", "github", "acme/shop", default_branch="main"),),
        tasks=(
            TaskSpec(
                "T-1",
                "Pay.",
                Priority.CRITICAL,
                Status.DONE,
                key_files=("src/pay.py", "docs"),
                acceptance_criteria=("It pays.", ""),
                test_steps=("pytest",),
                prd_requirement="F1",
                repo_target_id="shop",
                budget=300_000,
                review=Review.BEFORE,
                checks=(Check("lint", "ruff check"),),
            ),
            TaskSpec("T-2", "Write the parser.", Priority.HIGH, dependencies=("T-1",)),
        ),
    )


class TestNames:
    def test_a_plan_without_tasks_is_a_plan(self) -> None:
        assert plan_of(a_document()).tasks == ()

    def test_the_id_is_made_from_the_project(self) -> None:
        document = {"project": "Toy parser", "tasks": []}
        assert plan_of(document).id == "toy-parser"
        assert notes_of(document) == [
            'plan.json:2: "plan_id" is missing, so the plan\'s id is "toy-parser", made from its project. '
            'Add "plan_id": "toy-parser" to keep the id when the project gets another name.'
        ]

    def test_a_project_that_is_an_id_needs_no_note(self) -> None:
        assert plan_of({"project": "Demo", "tasks": []}).id == "Demo"
        assert notes_of({"project": "Demo", "tasks": []}) == []

    def test_the_project_is_the_id_when_it_is_missing(self) -> None:
        document = {"plan_id": "toy", "tasks": []}
        assert plan_of(document).project == "toy"
        assert '"project" is missing, so the plan is shown as "toy"' in notes_of(document)[0]

    @pytest.mark.parametrize("project", ["修复登录问题", "🚀", "x y" * 100])
    def test_no_id_is_invented(self, project: str) -> None:
        (told,) = problems_of({"project": project, "tasks": []})
        assert "No plan id can be made from the project" in told
        assert 'Add a "plan_id"' in told
        assert plan_of({"project": project, "plan_id": "p", "tasks": []}).project == project

    @pytest.mark.parametrize(
        ("document", "expected"),
        [
            ({}, ['"project" is missing', '"tasks" is missing']),
            ({"tasks": [], "project": " "}, ['"project" is blank']),
            ({"tasks": [], "project": 5}, ['"project" is the number 5, not a text']),
            ({"tasks": [], "project": "x", "plan_id": 5}, ['"plan_id" is the number 5, not a text']),
            ({"tasks": [], "project": "x", "plan_id": "a b"}, ['The id "a b" contains a space']),
            ({"tasks": [], "plan_id": ""}, ['The id "" is empty']),
            ({"tasks": {"T1": {}}, "project": "x"}, ['"tasks" is an object, not a list']),
            ({"tasks": None, "project": "x"}, ['"tasks" is missing']),
        ],
    )
    def test_what_is_needed(self, document: Any, expected: list[str]) -> None:
        assert whats(document) == expected


class TestTask:
    def test_everything_that_is_missing_is_one_problem(self) -> None:
        assert problems_of(a_document({"status": None, "descripton": "x"})) == [
            'plan.json:5: tasks[0]: "id", "status", "priority", "description" are missing (there is "descripton"). '
            'Add "id": "TASK-1", "status": "PENDING", "priority": "medium", "description": "What to do".'
        ]

    @pytest.mark.parametrize("value", [None, 5, "T1", [], True])
    def test_a_task_is_an_object(self, value: Any) -> None:
        assert "not an object" in whats(a_document(value))[0]

    @pytest.mark.parametrize("bad", [1, True, 1.5, [], {}])
    def test_an_id_is_a_text(self, bad: Any) -> None:
        (problem,) = reading_of(a_document(a_task(bad))).problems
        assert problem.task == "tasks[0]"
        assert problem.what.startswith('"id" is ')

    def test_a_number_is_to_be_quoted(self) -> None:
        assert problems_of(a_document(a_task(1))) == [
            'plan.json:6: tasks[0]: "id" is the number 1, not a text. Write it in quotes: "1".'
        ]

    @pytest.mark.parametrize("bad", [" T1 ", "a/b", "..", "a..b", "x" * 300, "é", "e\u0301", "%", "", "T:1", "x.lock"])
    def test_an_id_makes_a_branch(self, bad: str) -> None:
        assert len(of_task(task=bad)) == 1
        assert of_task(task=bad)[0].startswith("The id ")

    @pytest.mark.parametrize("status", ["PENDING", "pending", "Done", "failed", "SKIPPED"])
    def test_finished_tasks_stay_finished(self, status: str) -> None:
        assert the_task(status=status).status is Status(status.upper())
        assert notes_of(a_document(a_task(status=status))) == []

    @pytest.mark.parametrize("status", ["CLAIMED", "in_progress", "HUMAN_LOOP", "blocked"])
    def test_a_run_in_progress_starts_again_with_one_note(self, status: str) -> None:
        document = a_document(*(a_task(f"T{number}", status=status) for number in range(30)))
        assert {task.status for task in plan_of(document).tasks} == {Status.PENDING}
        (note,) = notes_of(document)
        assert note.startswith(f"plan.json:7: T0: The status {status.upper()} belongs to a run that is over")
        assert "(30 times)" in note

    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("status", "open", '"status" is the text "open", not one of the words it can be'),
            ("status", 1, '"status" is the number 1, not one of the words it can be'),
            ("priority", "urgent", '"priority" is the text "urgent", not one of the words it can be'),
            ("priority", 0, '"priority" is the number 0, not one of the words it can be'),
            ("priority", True, '"priority" is true, not one of the words it can be'),
            ("description", [], '"description" is a list, not a text'),
            ("dependencies", "T2", '"dependencies" is the text "T2", not a list'),
            ("key_files", {}, '"key_files" is an object, not a list'),
            ("acceptance_criteria", ["x", 5], '"acceptance_criteria" contains the number 5, which is not a text'),
            ("test_steps", [None], '"test_steps" contains null, which is not a text'),
            ("prd_requirement", False, '"prd_requirement" is false, not a text'),
            ("version", True, '"version" is true, not a whole number from 0 to 9223372036854775807'),
            ("version", -1, '"version" is the number -1, not a whole number from 0 to 9223372036854775807'),
            ("version", 1.0, '"version" is the number 1.0, not a whole number from 0 to 9223372036854775807'),
            ("timeout_minutes", "30", '"timeout_minutes" is the text "30", not a whole number from 1 to 10080'),
            ("timeout_minutes", 0, '"timeout_minutes" is the number 0, not a whole number from 1 to 10080'),
            ("timeout_minutes", 10_081, '"timeout_minutes" is the number 10081, not a whole number from 1 to 10080'),
            ("agent", "Claude Code", 'The agent "Claude Code" contains a space'),
            ("agent", 5, '"agent" is the number 5, not a text'),
            ("review", "always", '"review" is the text "always", not one of the words it can be'),
            ("review", True, '"review" is true, which does not say when a person is asked'),
            ("review", False, '"review" is false, not one of the words it can be'),
            ("review", 1, '"review" is the number 1, not one of the words it can be'),
        ],
    )
    def test_a_wrong_value_is_told(self, key: str, value: Any, expected: str) -> None:
        assert of_task(**{key: value}) == [expected]

    def test_what_true_can_mean_for_a_review_is_told(self) -> None:
        (told,) = problems_of(a_document(a_task(review=True)))
        assert told.endswith(
            'Write "result" to be asked about the finished work, or "before" to be asked before it starts.'
        )

    def test_null_is_the_same_as_leaving_an_optional_key_out(self) -> None:
        optional = [
            "dependencies",
            "key_files",
            "acceptance_criteria",
            "test_steps",
            "prd_requirement",
            "version",
            "repo_target_id",
            "agent",
            "budget_usd",
            "timeout_minutes",
            "review",
            "checks",
            "verification_commands",
        ]
        assert the_task(**dict.fromkeys(optional)) == the_task()

    @pytest.mark.parametrize(
        ("path", "wrong"),
        [
            ("/etc/passwd", "is not inside the repository"),
            (r"C:\dir\x", "is not inside the repository"),
            ("c:x", "is not inside the repository"),
            (r"\\host\share", "is not inside the repository"),
            ("~/x", "is not inside the repository"),
            ("../x", 'contains ".."'),
            ("a/../b", 'contains ".."'),
            (r"a\..\b", 'contains ".."'),
            ("", "names no file"),
            (" ", "names no file"),
            ("./", "names no file"),
            ("a\nb", "contains a character that cannot be seen"),
        ],
    )
    def test_key_files_stay_inside(self, path: str, wrong: str) -> None:
        reading = reading_of(a_document(a_task(key_files=["src/x.py", path])))
        (problem,) = reading.problems
        assert problem.what.startswith("The key file ")
        assert problem.what.endswith(wrong)
        assert problem.line == 12


class TestMoney:
    @pytest.mark.parametrize(
        ("amount", "micros"),
        [(5, 5_000_000), (0, 0), (0.3, 300_000), ("2.50", 2_500_000), ("0", 0), (1e3, 10**9), (1e-6, 1), (1e9, 10**15)],
    )
    def test_dollars_are_exact(self, amount: Any, micros: int) -> None:
        assert plan_of(a_document(budget_usd=amount)).budget == micros
        assert the_task(budget_usd=amount).budget == micros

    def test_the_digits_count_and_not_their_float(self) -> None:
        text = text_of(a_document(budget_usd="?")).replace('"?"', "123456789.123456")
        assert plan_of(text).budget == 123_456_789_123_456

    @pytest.mark.parametrize(
        ("amount", "expected"),
        [
            (-1, '"budget_usd" is negative'),
            ("-1", '"budget_usd" is the text "-1", not an amount of dollars'),
            ("$5", '"budget_usd" is the text "$5", not an amount of dollars'),
            ("1_000", '"budget_usd" is the text "1_000", not an amount of dollars'),
            ("NaN", '"budget_usd" is the text "NaN", not an amount of dollars'),
            ("٥", '"budget_usd" is the text "٥", not an amount of dollars'),
            (True, '"budget_usd" is true, not an amount of dollars'),
            ([5], '"budget_usd" is a list, not an amount of dollars'),
            (1e9 + 1, '"budget_usd" is more than a billion dollars'),
            (1e300, '"budget_usd" is more than a billion dollars'),
            (1e-7, '"budget_usd" is less than a millionth of a dollar'),
        ],
    )
    def test_what_is_no_budget(self, amount: Any, expected: str) -> None:
        assert whats(a_document(budget_usd=amount)) == [expected]

    @pytest.mark.parametrize(
        ("digits", "wrong"),
        [
            ("1e999999", "is more than a billion dollars"),
            ("9" * 5_000, "is more than a billion dollars"),
            ("-1e999999", "is negative"),
            ("1e-999999", "is less than a millionth of a dollar"),
        ],
        ids=["large", "long", "negative", "small"],
    )
    def test_immense_numbers_cost_nothing(self, digits: str, wrong: str) -> None:
        text = text_of(a_document(budget_usd="?")).replace('"?"', digits)
        assert whats(text) == [f'"budget_usd" {wrong}']


class TestChecks:
    @pytest.mark.parametrize("key", ["checks", "verification_commands"])
    def test_both_names_of_the_key_work(self, key: str) -> None:
        checks = [{"name": "unit", "command": "pytest -q"}]
        assert plan_of(a_document(**{key: checks})).checks == (Check("unit", "pytest -q"),)
        assert the_task(**{key: checks}).checks == (Check("unit", "pytest -q"),)

    @pytest.mark.parametrize(
        ("check", "expected"),
        [
            ("pytest", '"checks" contains the text "pytest", which is not an object'),
            ({"name": "unit"}, '"command" is missing'),
            ({"command": "x"}, '"name" is missing'),
            ({"name": " ", "command": "x"}, '"name" is blank'),
            ({"name": "u", "command": ""}, '"command" is blank'),
            ({"name": "u", "command": ["x"]}, '"command" is a list, not a text'),
            ({"name": "u", "command": "x", "required": "true"}, '"required" is the text "true", not true or false'),
            ({"name": "u", "command": "x", "required": 1}, '"required" is the number 1, not true or false'),
            (
                {"name": "u", "command": "x", "repair_max_attempts": -1},
                '"repair_max_attempts" is the number -1, not a whole number from 0 to 10',
            ),
            (
                {"name": "u", "command": "x", "timeout_seconds": 0},
                '"timeout_seconds" is the number 0, not a whole number from 1 to 86400',
            ),
            ({"name": "a\nb", "command": "x"}, 'The check\'s name "a\\nb" is not one line of at most 100 characters'),
        ],
    )
    def test_a_wrong_check_is_told(self, check: Any, expected: str) -> None:
        assert whats(a_document(checks=[check])) == [expected]
        assert of_task(checks=[check]) == [expected]

    def test_two_lists_or_two_names_are_too_many(self) -> None:
        unit = {"name": "unit", "command": "x"}
        assert of_task(checks=[unit], verification_commands=[unit]) == [
            '"checks" and "verification_commands" are both given'
        ]
        assert of_task(checks=[unit, unit]) == ['Two checks are named "unit"']
        assert plan_of(a_document(a_task(checks=[unit]), checks=[unit]))


class TestRepositoriesAndOrigin:
    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({}, None),
            ({"id": "a b"}, 'The id "a b" contains a space'),
            ({"id": 5}, '"id" is the number 5, not a text'),
            ({"provider": ""}, '"provider" is blank'),
            ({"repo_full_name": None}, '"repo_full_name" is missing'),
            ({"repo": "other/name"}, '"repo_full_name" and "repo" say different things'),
            ({"clone_url": "https://token@host/x"}, '"clone_url" contains a user name or a token'),
            ({"clone_url": "git@host:acme/shop.git"}, None),
            ({"clone_url": "/srv/git/shop.git"}, None),
            ({"clone_url": "../shop"}, '"clone_url" is not the address of a git repository'),
            ({"clone_url": "git://host/shop"}, '"clone_url" is not the address of a git repository'),
            ({"clone_url": "ssh://git:secret@host/shop"}, '"clone_url" is not the address of a git repository'),
            ({"clone_url": "https://[::1]/x"}, None),
            ({"clone_url": "ext::sh -c x"}, '"clone_url" is "ext::sh -c x", which git would not take for a name'),
            ({"clone_url": "--upload-pack=x"}, '"clone_url" is "--upload-pack=x", which git would not take for a name'),
            ({"default_branch": "-rf"}, '"default_branch" is "-rf", which git would not take for a name'),
        ],
    )
    def test_a_repo_target(self, more: dict[str, Any], expected: str | None) -> None:
        target = {"id": "shop", "provider": "github", "repo_full_name": "acme/shop", **more}
        assert whats(a_document(repo_targets=[target])) == ([expected] if expected else [])

    def test_a_repo_target_is_declared_once_and_before_it_is_used(self) -> None:
        target = {"id": "shop", "provider": "github", "repo": "acme/shop"}
        document = a_document(a_task(repo_target_id="store"), repo_targets=[target, {**target, "id": "SHOP"}])
        assert whats(document) == [
            'The repository "store" is not among the plan\'s repo_targets',
            'Two repo_targets have the id "SHOP"',
        ]
        assert of_task(repo_target_id="shop") == ['The repository "shop" is not among the plan\'s repo_targets']
        assert plan_of(a_document(a_task(repo_target_id="shop"), repo_targets=[target]))

    @pytest.mark.parametrize(
        ("origin", "expected"),
        [
            ({"system": "jira", "ref": "PAY-1"}, []),
            ({"origin_system": "jira", "origin_ref": "PAY-1", "unheard_of": 1}, []),
            ({"system": "jira", "type": "jira", "ref": "PAY-1"}, []),
            ({"system": "jira", "type": "github", "ref": "PAY-1"}, ['"system" and "type" say different things']),
            ({}, ['"system" is missing', '"ref" is missing']),
            ("PAY-1", ['"origin" is the text "PAY-1", not an object']),
            ({"system": "jira", "ref": 1}, ['"ref" is the number 1, not a text']),
        ],
    )
    def test_an_origin(self, origin: Any, expected: list[str]) -> None:
        assert whats(a_document(origin=origin)) == expected


class TestUnknownKeys:
    def test_each_is_told_once_with_how_often_and_what_was_meant(self) -> None:
        tasks = [a_task(f"T{number}", phase="one", acceptance_criterias=[]) for number in range(100)]
        assert notes_of(a_document(*tasks, agent_instructions={"before_start": "read"})) == [
            'plan.json:10: T0: "phase" is not a key of a task, so it was ignored (100 times). '
            "Remove it if it was meant to do something.",
            'plan.json:11: T0: "acceptance_criterias" is not a key of a task, so it was ignored (100 times). '
            'If "acceptance_criteria" is meant, write that.',
            'plan.json:806: "agent_instructions" is not a key of a plan, so it was ignored. '
            "Remove it if it was meant to do something.",
        ]

    def test_a_flood_of_them_is_only_counted(self) -> None:
        notes = notes_of(a_document(**{f"key{number}": 1 for number in range(5_000)}))
        assert len(notes) == 51
        assert any("4950 more keys are unknown" in note for note in notes)


class TestLimits:
    def test_tasks(self) -> None:
        tasks = [a_task(f"T{number}") for number in range(4)]
        assert plan_of(a_document(*tasks))
        assert whats(a_document(*tasks), tasks=3) == ["The plan has 4 tasks, more than 3, so they were not looked at"]

    def test_dependencies(self) -> None:
        tasks = [a_task(f"T{number}") for number in range(51)]
        many = a_task("all", dependencies=[task["id"] for task in tasks])
        assert whats(a_document(*tasks, many)) == ["The task has 51 dependencies, more than 50"]
        assert reading_of(a_document(*tasks, many), dependencies=51).plan

    @pytest.mark.parametrize("key", ["description", "prd_requirement", "acceptance_criteria"])
    def test_text(self, key: str) -> None:
        for text, fits in (("x" * 100_000, True), ("x" * 100_001, False), ("é" * 50_000, True), ("é" * 50_001, False)):
            value = [text] if key == "acceptance_criteria" else text
            assert of_task(**{key: value}) == ([] if fits else [f'A text in "{key}" is longer than 100 kB'])

    def test_a_flood_of_problems_is_counted(self) -> None:
        told = problems_of(a_document(*([{}] * 12_000)))
        assert len(told) == 10_001
        assert "There are 2000 more problems of this kind" in told[-1]


def test_a_plan_is_read_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text_of(a_document(a_task())), encoding="utf-8")
    assert read_plan_file(path).plan
    with pytest.raises(FileUnreadable, match=r"none\.json cannot be read \(No such file or directory\); check"):
        read_plan_file(tmp_path / "none.json")
    with pytest.raises(FileUnreadable, match="cannot be read"):
        read_plan_file(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file here")
def test_an_endless_file_is_not_read_to_its_end() -> None:
    (problem,) = read_plan_file(Path("/dev/zero"), limits=Limits(file_bytes=1000)).problems
    assert "larger than 1 kB" in problem.what
