"""What the program can say or be told is described somewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from whilly.core.events import TaskEvent
from whilly.core.outcome import Outcome
from whilly.core.plan import Status

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = "agent|ci|human_review|llm|pipeline|plan|repair|system|task|token|verification|worker|workspace"
EVENT_TYPE = re.compile(rf"({SUBJECTS})(\.[a-z_]*[a-z])+")
NOT_EVENTS = {"plan.json", "workspace.json", "system.posix_acl_access"}
"""Words of the same shape that mean something else."""

VARIABLE = re.compile(r"(WHILLY_[A-Z_]+|CLAUDE_BIN)")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def words_of_the_program() -> Iterator[str]:
    """Every string constant of the package, docstrings left out."""
    for path in (ROOT / "whilly").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield node.value


WORDS = set(words_of_the_program())
EVENT_TYPES = {kind.type for kind in get_args(TaskEvent)} | {word for word in WORDS if EVENT_TYPE.fullmatch(word)}
EVENT_TYPES -= NOT_EVENTS


def may_be_said(kind: str) -> bool:
    """Whether the program has this event type, whole or put together from a piece (`plan` + `.paused`)."""
    pieces = [word for word in WORDS if word.startswith((".", "_")) or word.endswith((".", "_"))]
    return kind in EVENT_TYPES or any(
        len(piece) > 2 and (kind.endswith(piece) or kind.startswith(piece)) for piece in pieces
    )


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES))
def test_every_event_is_described(kind: str) -> None:
    assert f"### `{kind}`" in page("reference/events.md")


def test_no_event_is_described_that_does_not_exist() -> None:
    described = set(re.findall(r"^### `([^`]+)`", page("reference/events.md"), re.MULTILINE))
    assert [kind for kind in sorted(described) if not may_be_said(kind)] == []


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_in_the_catalogue(outcome: Outcome) -> None:
    assert f"`{outcome.value}`" in page("explanation/failure-catalogue.md")


@pytest.mark.parametrize("status", Status)
def test_every_status_is_explained(status: Status) -> None:
    assert f"| `{status.value}` |" in page("explanation/task-lifecycle.md")


@pytest.mark.parametrize("name", sorted(filter(VARIABLE.fullmatch, WORDS)))
def test_every_setting_is_described(name: str) -> None:
    assert f"`{name}`" in page("reference/settings.md")
