"""Commands start fast because they import only what they use."""

import os
import subprocess
import sys

import pytest

HEAVY = (
    "asyncio",
    "asyncpg",
    "fastapi",
    "httpx2",
    "sqlalchemy",
    "alembic",
    "textual",
    "uvicorn",
    "jinja2",
    "pydantic",
    "rich",
)
COMMANDS = [
    (), ("plan",), ("plan", "import"), ("plan", "show"), ("run",), ("task",), ("why",), ("events",), ("review",),
    ("budget",), ("db",), ("demo",), ("logs",), ("pause",), ("server",), ("login",),
    ("admin",), ("admin", "token"), ("worker",), ("worker", "connect"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_imports_nothing_heavy(command: tuple[str, ...]) -> None:
    program = (
        "import sys; from whilly.cli.main import app\n"
        "try: app(sys.argv[1:])\n"
        f"except SystemExit: print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command, "--help"], capture_output=True, encoding="utf-8", check=True
    )

    assert "Usage: " in done.stdout
    assert done.stderr.strip() == "[]"


def test_the_version_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whilly.cli.main", "--version"], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.startswith("whilly ")


@pytest.mark.parametrize(
    "group",
    [
        (),
        ("plan",),
        ("task",),
        ("review",),
        ("budget",),
        ("db",),
        ("worker",),
        ("admin",),
        ("admin", "bootstrap"),
        ("admin", "token"),
        ("admin", "worker"),
    ],
    ids=" ".join,
)
def test_no_summary_of_a_command_is_cut_in_a_common_terminal(group: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whilly.cli.main", *group, "--help"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert [line for line in done.stdout.splitlines()[1:] if line.endswith("...")] == []
