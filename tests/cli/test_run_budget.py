"""WHILLY_BUDGET_USD caps one run: a warning at 80 %, and at 100 % its agents stop, their work is kept, exit code 2."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Whilly, git, write_plan, write_scripts

SPENDS: list[dict[str, Any]] = [
    {"write": {"path": "begun.md", "content": "precious\n"}},
    {"usage": {"cost_usd": 0.3}},
    {"sleep": 0.3},
    {"usage": {"cost_usd": 0.12}},
    {"sleep": 0.3},
    {"usage": {"cost_usd": 0.15}},
    {"sleep": 60},
]


def events(whilly: Whilly, kind: str) -> list[dict[str, Any]]:
    told = map(json.loads, whilly("events", "p", "--json").out.splitlines())
    return [event for event in told if event["type"] == kind]


def test_a_run_that_has_spent_its_budget_stops_its_agents_and_keeps_their_work(
    whilly: Whilly, tmp_path: Path, repository: Path
) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B"}, {"id": "C"}))
    script = write_scripts(tmp_path, A=SPENDS, B=SPENDS, C=SPENDS)
    run = ("run", "--plan", "p", "--repo", repository, "--agent", "scripted")

    answer = whilly(*run, "--workers", "2", "--script", script, WHILLY_BUDGET_USD="1.00")

    assert answer.code == 2, answer.out + answer.err
    assert answer.out.count("that WHILLY_BUDGET_USD allows this run are spent.\n") == 1
    assert "are spent; 3 tasks left for another run." in answer.out
    released = events(whilly, "RELEASE")
    assert [event["payload"]["reason"] for event in released] == ["over_budget", "over_budget"]
    assert not any(event["payload"]["counted"] for event in released)
    for event in released:
        assert git(repository, "show", f"{event['detail']['kept_ref']}:begun.md") == "precious"
    assert not events(whilly, "plan.budget_exceeded")
    spent = float(whilly("plan", "list", "--json").json[0]["spent_usd"])
    assert 1.0 <= spent <= 1.2

    again = whilly(*run)

    assert again.code == 0, again.out + again.err
    assert git(repository, "show", f"whilly/p/{released[0]['task']}:begun.md") == "precious"


def test_a_run_within_its_budget_is_like_any_other(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    steps: list[dict[str, Any]] = [{"write": {"path": "a.md", "content": "a\n"}}, {"usage": {"cost_usd": 0.1}}]
    script = write_scripts(tmp_path, A=steps)

    answer = whilly(
        "run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--script", script, WHILLY_BUDGET_USD="1"
    )

    assert answer.code == 0, answer.out
    assert "WHILLY_BUDGET_USD" not in answer.out


def test_work_that_is_done_when_the_budget_is_reached_is_judged(
    whilly: Whilly, tmp_path: Path, repository: Path
) -> None:
    slow = {"name": "slow", "command": "sleep 1; ls *.md"}
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B"}, verification_commands=[slow]))
    script = write_scripts(
        tmp_path,
        A=[{"write": {"path": "a.md", "content": "a\n"}}, {"usage": {"cost_usd": 0.001}}],
        B=[{"sleep": 1}, {"usage": {"cost_usd": 0.01}}, {"sleep": 60}],
    )

    answer = whilly(
        *("run", "--plan", "p", "--repo", repository, "--agent", "scripted", "--script", script, "--workers", "2"),
        WHILLY_BUDGET_USD="0.01",
    )

    assert answer.code == 2, answer.out
    assert [event["task"] for event in events(whilly, "COMPLETE")] == ["A"], answer.out
    assert [event["task"] for event in events(whilly, "RELEASE")] == ["B"], answer.out


@pytest.mark.parametrize("amount", ["0", "-1", "five", "nan", "1e30"])
def test_what_is_no_budget_is_refused(whilly: Whilly, amount: str) -> None:
    answer = whilly("run", "--plan", "p", WHILLY_BUDGET_USD=amount)

    assert answer.code == 2
    assert answer.err.startswith("whilly: WHILLY_BUDGET_USD is not an amount of US dollars above 0;")
