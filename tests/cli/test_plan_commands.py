"""Plans, as people bring them in and look at them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Whilly, write_plan


def test_a_plan_is_imported_shown_and_exported_without_a_change(whilly: Whilly, tmp_path: Path) -> None:
    file = write_plan(tmp_path, {"id": "A", "priority": "high"}, {"id": "B", "dependencies": ["A"]}, budget_usd=1.5)

    imported = whilly("plan", "import", file)
    exported = whilly("plan", "export", "p")
    (tmp_path / "out.json").write_text(exported.out, encoding="utf-8")
    again = whilly("plan", "import", tmp_path / "out.json")

    assert imported.code == 0, imported.err
    assert "Imported plan p with 2 tasks" in imported.out
    assert again.out.splitlines()[0] == "Plan p: 0 added, 0 changed, 0 removed, 2 unchanged."
    assert whilly("plan", "export", "p").out == exported.out
    shown = whilly("plan", "show", "p").out
    assert "[PENDING    ]   B  (medium) ← A" in shown
    assert "B waits for A" in shown
    assert "\x1b" not in shown
    assert whilly("plan", "show", "p", "--json").json["tasks"][0]["spec"]["id"] == "A"
    assert whilly("plan", "list", "--json").json[0]["budget_usd"] == "1.5"


def test_all_mistakes_of_a_file_are_told_and_nothing_is_stored(whilly: Whilly, tmp_path: Path) -> None:
    file = write_plan(tmp_path, {"id": "A", "dependencies": ["Z"]}, {"id": "a b"}, {"id": "C", "priority": "soon"})

    answer = whilly("plan", "import", file)

    assert answer.code == 1
    assert all(word in answer.err for word in ("Z", "a b", "soon", "nothing was stored"))
    assert "Traceback" not in answer.err
    assert whilly("plan", "list", "--json").json == []


def test_a_plan_may_come_through_a_pipe(whilly: Whilly, tmp_path: Path) -> None:
    text = write_plan(tmp_path, {"id": "A"}).read_text(encoding="utf-8")

    assert whilly("plan", "import", "-", stdin=text).code == 0


def test_strict_apply_skips_what_the_gate_rejects(whilly: Whilly, tmp_path: Path) -> None:
    weak = {"id": "WEAK", "description": "Fix it.", "acceptance_criteria": [], "test_steps": []}
    file = write_plan(tmp_path, {"id": "GOOD"}, weak)

    warned = whilly("plan", "apply", file, "--json").json
    strict = whilly("plan", "apply", file, "--strict")

    assert warned["skipped"] == []
    assert warned["decisions"]["WEAK"]["verdict"] == "REJECT"
    assert "Skipped 1: WEAK" in strict.out
    assert "REJECT" in strict.err.upper()
    events = [json.loads(line) for line in whilly("events", "p", "--json").out.splitlines()]
    (skipped,) = [event for event in events if event["type"] == "task.skipped"]
    assert skipped["payload"]["missing"]
    applied = [event["payload"] for event in events if event["type"] == "plan.applied"]
    assert [(one["tasks_count"], one["skipped_count"], one["strict"]) for one in applied] == [
        (2, 0, False),
        (2, 1, True),
    ]


def test_a_started_task_is_not_changed_by_an_import(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    file = write_plan(tmp_path, {"id": "A"})
    whilly("plan", "import", file)
    assert whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted").code == 0
    changed = write_plan(tmp_path, {"id": "A", "description": "Something else, described at length."})

    answer = whilly("plan", "import", changed)

    assert answer.code == 1
    assert "A would change" in answer.err


def test_reset_asks_first_and_keeps_the_history(whilly: Whilly, tmp_path: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    whilly("task", "skip", "p", "A", "--reason", "Not now.")

    assert whilly("plan", "reset", "p").code == 2
    assert whilly("plan", "reset", "p", "--yes").out == "Plan p starts over: 1 task.\n"
    assert whilly("plan", "reset", "p", "--hard", "--yes").out == "Deleted plan p: 1 task.\n"
    assert "plan.deleted" in whilly("events", "p").out


def test_a_created_plan_has_its_budget(whilly: Whilly) -> None:
    assert whilly("plan", "create", "--id", "p", "--name", "Mine", "--budget", "5.00").code == 0
    assert whilly("plan", "list", "--json").json[0]["budget_usd"] == "5"
    again = whilly("plan", "create", "--id", "p", "--name", "Mine", "--budget", "7")
    assert again.code == 1
    assert "exists already" in again.err
    assert whilly("budget", "set", "p", "2.5").code == 0
    assert whilly("plan", "list", "--json").json[0]["budget_usd"] == "2.5"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("plan", "show", "nope"), 2, "There is no plan 'nope'"),
        (("plan", "export", "nope"), 2, "There is no plan 'nope'"),
        (("plan", "triz", "nope"), 2, "There is no plan 'nope'"),
        (("plan", "import", "nowhere.json"), 2, "nowhere.json cannot be read (No such file or directory)"),
        (
            ("plan", "create", "--id", "a b", "--name", "x"),
            2,
            "'a b' cannot be a plan's id: it contains a space; write a-b.",
        ),
        (("plan", "create", "--id", "p", "--name", "x", "--budget", "much"), 2, "not an amount"),
        (("plan", "create", "--id", "p", "--name", " "), 2, "The plan's name must have 1 to"),
        (("plan", "import", "x.json", "--max-mb", "-5"), 2, "--max-mb"),
        (("plan", "import", "x.json", "--max-mb", "9" * 20), 2, "--max-mb"),
        (("plan", "apply", "x.json", "--max-tasks", "0"), 2, "--max-tasks"),
        (("budget", "set", "p", "0.0000001"), 2, "six decimals at most"),
        (("budget", "set", "p", "٥"), 2, "not an amount"),
        (("events", "nope"), 2, "There is no plan 'nope'"),
        (("events", "--after", "-5"), 2, "--after"),
        (("events", "nope", "--verify"), 2, "leave out PLAN"),
        (("budget", "set", "nope", "-3"), 2, ""),
        (("task", "retry", "nope", "A"), 2, "no task 'A'"),
        (("why", "nope", "A"), 2, "There is no plan 'nope'"),
        (("review", "approve", "nope", "A"), 2, "no task 'A'"),
        (("pause", "nope"), 2, "There is no plan 'nope'"),
        (("frobnicate",), 2, "No such command"),
        (("run",), 2, "Name the plan"),
    ],
)
def test_a_wrong_input_gets_one_sentence(whilly: Whilly, arguments: tuple[str, ...], code: int, said: str) -> None:
    answer = whilly(*arguments)

    assert answer.code == code, answer.err
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_bytes_that_are_no_text_get_one_sentence(whilly: Whilly, tmp_path: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))

    answer = whilly("task", "skip", "p", "A", "--reason", os.fsdecode(b"caf\xe9"))

    assert answer.code == 2
    assert answer.err == "whilly: The argument 'caf\\udce9' is not UTF-8 text; write it as such.\n"


def test_a_console_of_another_alphabet_is_no_obstacle(whilly: Whilly, tmp_path: Path) -> None:
    whilly(
        "plan", "import", write_plan(tmp_path, {"id": "A", "description": "Исправь вход 修复登录 🚀, и проверь его."})
    )

    for console in ({"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        answer = whilly("plan", "show", "p", **console)
        assert answer.code == 0, answer.err
        assert "Исправь вход 修复登录 🚀" in answer.out


def test_an_unreachable_database_is_said_in_one_sentence(whilly: Whilly) -> None:
    answer = whilly("plan", "list", WHILLY_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")

    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert len(answer.err.strip().splitlines()) == 1


def test_triz_is_strict_when_asked(whilly: Whilly, tmp_path: Path) -> None:
    same = {"description": "Write the very same thing, twice over."}
    whilly("plan", "import", write_plan(tmp_path, {"id": "A", **same}, {"id": "B", **same}))

    assert whilly("plan", "triz", "p").code == 0
    assert whilly("plan", "triz", "p", "--strict").code == 1
    assert whilly("plan", "triz", "p", "--json").json["verdict"] == "revise"


def test_the_schema_is_json(whilly: Whilly) -> None:
    assert whilly("plan", "schema").json["properties"]["tasks"]


def test_many_findings_are_counted_not_all_shown(whilly: Whilly, tmp_path: Path) -> None:
    vague: dict[str, Any] = {"acceptance_criteria": [], "test_steps": []}
    plan = write_plan(tmp_path, *({"id": f"T{number}", **vague} for number in range(60)))

    answer = whilly("plan", "apply", plan, "--strict")

    assert answer.code == 0
    assert len(answer.err.splitlines()) == 51
    assert "more findings; `--json` shows all." in answer.err
    assert answer.out.splitlines()[-1].endswith("T18, T19 …")


def test_the_log_of_a_plan_outlives_it(whilly: Whilly, tmp_path: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    whilly("plan", "reset", "p", "--hard", "--yes")

    assert "plan.deleted" in whilly("events", "p").out
    assert whilly("events", "--verify", "--json").json["sound"] is True
    assert whilly("events", "--after", "9" * 20).out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [("plan", "list"), ("plan", "export", "p"), ("events",), ("plan", "schema")])
def test_output_that_cannot_be_written_is_one_sentence(
    whilly: Whilly, tmp_path: Path, database_url: str, command: tuple[str, ...]
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "whilly.cli.main", *command],
            env={**os.environ, "WHILLY_DATABASE_URL": database_url},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (2, "whilly: The output could not be written: No space left on device.\n")


def test_a_budget_per_day_is_set(whilly: Whilly, tmp_path: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, budget_usd_per_day=2.5))

    assert whilly("budget", "set", "p", "3", "--per-day").out == "Plan p may spend $3.00 per day.\n"
    assert "$0.00, $0.00 of $3.00 today" in whilly("plan", "list").out
    (listed,) = whilly("plan", "list", "--json").json
    assert (listed["daily_budget_usd"], listed["spent_today_usd"]) == ("3", "0")
    assert '"budget_usd_per_day": 3' in whilly("plan", "export", "p").out
    assert whilly("budget", "set", "p", "none", "--per-day").out == "Plan p may spend what it likes per day.\n"
    assert "per_day" not in whilly("plan", "export", "p").out
    refused = whilly("budget", "set", "p", "3", "--per-day", "--task", "A")
    assert refused.code == 2
    assert "leave out --per-day" in refused.err
