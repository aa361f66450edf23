"""The command as people type it: a process of its own, against the test's database and a scratch repository."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TASK = {
    "status": "pending",
    "priority": "medium",
    "acceptance_criteria": ["The file holds the line."],
    "test_steps": ["test -f *.md"],
}


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, read as JSON."""
        return json.loads(self.out)


Whilly = Callable[..., Said]


@pytest.fixture
def whilly(database_url: str, tmp_path: Path) -> Whilly:
    """Run `whilly` with arguments; `stdin` and environment variables by name."""

    def run(*arguments: object, stdin: str | None = None, **environment: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "whilly.cli.main", *map(str, arguments)],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            timeout=90,
            env={**os.environ, "WHILLY_DATABASE_URL": database_url, "COLUMNS": "200", **environment},
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    path = tmp_path / "repository"
    path.mkdir()
    (path / "README.md").write_text("A project.\n", encoding="utf-8")
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=path, check=True)
    return path


def write_plan(folder: Path, *tasks: dict[str, Any], plan: str = "p", **more: Any) -> Path:
    """A plan file of these tasks, each with what a task needs unless it says otherwise."""
    filled = [
        {**TASK, "description": f"Write the file of {task['id']}, with one line in it.", **task} for task in tasks
    ]
    path = folder / f"{plan}.json"
    path.write_text(
        json.dumps({"plan_id": plan, "project": f"Project {plan}", "tasks": filled, **more}), encoding="utf-8"
    )
    return path


def write_scripts(folder: Path, **scripts: list[dict[str, Any]]) -> Path:
    """A file of scripts for the scripted agent; task T1 is `T1=[…]`."""
    path = folder / "script.json"
    path.write_text(json.dumps(scripts), encoding="utf-8")
    return path


def git(repository: Path, *arguments: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()
