"""`whilly run`, from a plan to branches, with the exit codes that were promised."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.cli.conftest import Whilly, git, write_plan, write_scripts


def test_a_plan_becomes_verified_branches(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    plan = write_plan(
        tmp_path,
        {"id": "A", "key_files": ["a.md"]},
        {"id": "B", "key_files": ["b.md"]},
        {"id": "C", "key_files": ["c.md"], "dependencies": ["A", "B"]},
        verification_commands=[{"name": "files", "command": "ls *.md"}],
    )
    whilly("plan", "import", plan)
    before = git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain")

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--workers", "2")

    assert answer.code == 0, answer.out + answer.err
    assert "All done: 3 done" in answer.out
    assert set(git(repository, "ls-tree", "--name-only", "whilly/p/C").splitlines()) >= {"a.md", "b.md", "c.md"}
    assert before == (git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain"))
    detail = whilly("task", "show", "p", "C", "--json").json
    assert detail["attempts"][0]["checks"][0]["passed"] is True
    assert "check files: passed" in whilly("task", "show", "p", "C").out
    assert "<promise>COMPLETE</promise>" in whilly("logs", "p", "C").out
    assert "is sound" in whilly("events", "--verify").out


def test_a_run_on_a_finished_plan_ends_at_once(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A", "status": "done"}))

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted")

    assert answer.code == 0
    assert "0 attempts" in answer.out


def test_a_failing_check_is_repaired_once_with_what_it_said(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    script = write_scripts(
        tmp_path,
        A=[
            {"on_attempt": {"1": [{"write": {"path": "a.md", "content": "wrong\n"}}]}},
            {"on_attempt": {"2": [{"write": {"path": "a.md", "content": "right\n"}}]}},
        ],
    )
    check = "right=grep right a.md"

    answer = whilly(
        "run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--script", script, "--verify-command", check
    )

    assert answer.code == 0, answer.out + answer.err
    assert "a repair attempt follows" in answer.out
    attempts = whilly("task", "show", "p", "A", "--json").json["attempts"]
    assert [attempt["outcome"] for attempt in attempts] == ["checks_failed", "completed"]
    assert git(repository, "show", "whilly/p/A:a.md") == "right"


def test_a_missing_agent_of_some_tasks_ends_the_run_when_the_others_are_done(
    whilly: Whilly, tmp_path: Path, repository: Path
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B", "agent": "claude"}))

    answer = whilly(
        "run", "--plan", "p", "--repo", repository, "--agent", "scripted", CLAUDE_BIN=str(tmp_path / "nowhere")
    )

    assert answer.code == 2, answer.out + answer.err
    assert answer.out.count("Install Claude Code") == 1
    assert "1 task asks for the agent claude, which is missing here." in answer.out
    assert whilly("task", "show", "p", "A", "--json").json["view"]["task"]["status"] == "DONE"


def test_an_agent_that_nobody_knows_is_said_with_what_to_do(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A", "agent": "abacus"}))

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted")

    assert answer.code == 2
    assert "the agent abacus, which this run does not have; change it in the plan" in answer.out


def test_a_dirty_folder_ends_a_run_in_place_before_anything_is_used_up(
    whilly: Whilly, tmp_path: Path, repository: Path
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B"}))
    (repository / "README.md").write_text("My own words.\n", encoding="utf-8")

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--in-place")

    assert answer.code == 2, answer.out + answer.err
    assert "has uncommitted changes (README.md); commit or stash them, or leave out --in-place." in answer.out
    for task in ("A", "B"):
        found = whilly("task", "show", "p", task, "--json").json["view"]["task"]
        assert (found["status"], found["attempts"]) == ("PENDING", 0)


@pytest.mark.parametrize("plan", [["p"], []], ids=["the plan", "everything"])
def test_a_run_that_finds_itself_paused_says_so(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str, plan: list[str]
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    whilly("pause", *plan, "--reason", "Lunch")
    whilly("events")

    with subprocess.Popen(
        [sys.executable, "-m", "whilly.cli.main", "run", "--plan", "p", "--repo", repository, "--agent", "scripted"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "WHILLY_DATABASE_URL": database_url},
    ) as running:
        assert running.stdout is not None
        assert f"is paused (Lunch); `{' '.join(('whilly resume', *plan))}` goes on." in running.stdout.readline()
        assert whilly("resume", *plan).code == 0
        out, _ = running.communicate(timeout=30)

    assert running.returncode == 0, out


def test_an_optional_check_only_warns(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))

    answer = whilly(
        "run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--optional-verify-command", "style=false"
    )

    assert answer.code == 0
    assert "check style: warning" in answer.out


def test_what_failed_makes_the_run_fail(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B", "dependencies": ["A"]}))
    check = ("--verify-command", "never=false")

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", *check)

    assert answer.code == 1
    assert "1 failed, 1 blocked" in answer.out
    assert "A, which it needs, is FAILED" in whilly("task", "show", "p", "B").out or "A" in whilly("why", "p", "B").out
    assert whilly("task", "retry", "p", "A").out == "Task A is PENDING again.\n"
    assert whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted").code == 0


def test_only_human_decisions_are_open(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A", "review": "result"}, {"id": "B", "dependencies": ["A"]}))
    run = ("run", "--plan", "p", "--repo", repository, "--agent", "scripted")

    assert whilly(*run).code == 3
    assert whilly("review", "changes", "p", "A", "--comment", "Another line, please.").code == 0
    assert whilly(*run).code == 3
    assert whilly("review", "approve", "p", "A").out == "Task A is DONE.\n"
    assert whilly(*run).code == 0


def test_a_budget_that_is_used_up_ends_the_run(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B"}, budget_usd=0.5))
    spends: list[dict[str, Any]] = [{"usage": {"cost_usd": 0.5}}, {"write": {"path": "x.md", "content": "x"}}]
    script = write_scripts(tmp_path, A=spends, B=spends)

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--script", script)

    assert answer.code in (1, 2)
    assert whilly("plan", "list", "--json").json[0]["spent_usd"] == "0.5"
    assert whilly("events", "p").out.count("plan.budget_exceeded") == 1


def test_a_database_that_goes_away_is_waited_for(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str
) -> None:
    ids = [f"T{number}" for number in range(6)]
    whilly("plan", "import", write_plan(tmp_path, *({"id": task} for task in ids)))
    steps: list[dict[str, Any]] = [{"sleep": 0.7}, {"shell": "date > date.md"}]
    script = write_scripts(tmp_path, **dict.fromkeys(ids, steps))
    command = ["run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--script", script, "--workers", "2"]
    running = subprocess.Popen(
        [sys.executable, "-m", "whilly.cli.main", *map(str, command)],
        env={**os.environ, "WHILLY_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    async def cut_all_connections() -> None:
        cutter = await asyncpg.connect(database_url)
        others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        for _ in range(10):
            await cutter.fetch(f"select pg_terminate_backend(pid) {others}")
            await asyncio.sleep(0.15)
        await cutter.close()

    assert running.stdout is not None
    assert "claimed" in running.stdout.readline()
    asyncio.run(cut_all_connections())
    out, err = running.communicate(timeout=60)

    assert running.returncode == 0, out + err
    assert "All done: 6 done" in out
    assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_its_output_does_not_end_a_run(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B"}))
    command = ["run", "--plan", "p", "--repo", str(repository), "--agent", "scripted"]
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
    assert "Traceback" not in done.stderr
    assert [task["task"]["status"] for task in whilly("plan", "show", "p", "--json").json["tasks"]] == ["DONE", "DONE"]


def test_a_missing_agent_is_said_once_and_ends_the_run(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))

    answer = whilly("run", "--plan", "p", "--repo", repository, CLAUDE_BIN="/nowhere/claude")

    assert answer.code == 2
    assert "CLAUDE_BIN" in answer.out
    assert whilly("task", "show", "p", "A", "--json").json["view"]["task"]["attempts"] == 0


def test_ctrl_c_leaves_no_agent_and_loses_no_attempt(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    script = write_scripts(
        tmp_path, A=[{"write": {"path": "half.md", "content": "half\n"}}, {"print": "busy"}, {"hang": True}]
    )
    arguments = ["run", "--plan", "p", "--repo", str(repository), "--agent", "scripted", "--script", str(script)]
    with subprocess.Popen(
        [sys.executable, "-m", "whilly.cli.main", *arguments],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "WHILLY_DATABASE_URL": database_url},
    ) as running:
        assert running.stdout is not None
        deadline = time.monotonic() + 30
        while "busy" not in whilly("logs", "p", "A").out:
            assert time.monotonic() < deadline
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=30)

    assert running.returncode == 130
    assert "Interrupted" in out
    assert out.rstrip().endswith(f"Next: whilly {shlex.join(arguments)}")
    task = whilly("task", "show", "p", "A", "--json").json
    assert (task["view"]["task"]["status"], task["view"]["task"]["attempts"]) == ("PENDING", 0)
    kept = task["attempts"][0]["kept_ref"]
    assert f"what it left: {kept}" in out
    assert git(repository, "show", f"{kept}:half.md") == "half"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals to close")
def test_a_terminal_that_is_closed_loses_no_attempt(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str
) -> None:
    import fcntl
    import termios

    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    script = write_scripts(tmp_path, A=[{"print": "busy"}, {"hang": True}])
    arguments = ["run", "--plan", "p", "--repo", str(repository), "--agent", "scripted", "--script", str(script)]
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "whilly.cli.main", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        env={**os.environ, "WHILLY_DATABASE_URL": database_url, "TERM": "xterm"},
    ) as running:
        os.close(theirs)
        os.set_blocking(ours, False)
        deadline = time.monotonic() + 30
        while "busy" not in whilly("logs", "p", "A").out:
            assert time.monotonic() < deadline
            with suppress(BlockingIOError):
                os.read(ours, 65536)
        os.close(ours)
        assert running.wait(30) == 130

    task = whilly("task", "show", "p", "A", "--json").json
    assert (task["view"]["task"]["status"], task["view"]["task"]["attempts"]) == ("PENDING", 0)
    assert task["attempts"][0]["reason"] == "The worker was told to stop."


def test_a_task_cancelled_from_another_terminal_stops_soon(
    whilly: Whilly, tmp_path: Path, repository: Path, database_url: str
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    script = write_scripts(tmp_path, A=[{"print": "busy"}, {"hang": True}])
    arguments = ["run", "--plan", "p", "--repo", str(repository), "--agent", "scripted", "--script", str(script)]
    with subprocess.Popen(
        [sys.executable, "-m", "whilly.cli.main", *arguments],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "WHILLY_DATABASE_URL": database_url},
    ) as running:
        deadline = time.monotonic() + 30
        while "busy" not in whilly("logs", "p", "A").out:
            assert time.monotonic() < deadline
        assert "being stopped" in whilly("task", "cancel", "p", "A").out
        out, _ = running.communicate(timeout=30)

    assert running.returncode == 1, out
    assert whilly("task", "show", "p", "A", "--json").json["attempts"][0]["outcome"] == "cancelled"


def test_events_are_json_lines_in_order(whilly: Whilly, tmp_path: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))

    events = [json.loads(line) for line in whilly("events", "--json").out.splitlines()]

    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert {event["plan"] for event in events} <= {"p", "*"}
