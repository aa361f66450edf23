import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.names import branch_of, check_id, id_from

IDS = ("T1", "1", "01", "1.0", "TASK-001", "a_b", "HEAD", "x" * 64, "a.lock.b", "con", "A.B-c_9")


def git_accepts(branch: str, folder: Path) -> bool:
    done = subprocess.run(["git", "check-ref-format", "--branch", branch], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("text", IDS)
def test_an_id_makes_a_branch_that_git_accepts(text: str, tmp_path: Path) -> None:
    assert check_id(text) is None
    assert git_accepts(branch_of(text, text), tmp_path)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "is empty"),
        (" T1 ", "begins or ends with blank space"),
        ("T1\n", "begins or ends with blank space"),
        ("T 1", "contains a space"),
        ("a/b", 'contains "/"'),
        ("a:b", 'contains ":"'),
        ("%", 'contains "%"'),
        ("@{u}", 'contains "@"'),
        ("a..b", 'contains ".."'),
        ("..", 'contains ".."'),
        ("feature.lock", 'ends with ".lock"'),
        ("feature.LOCK", 'ends with ".lock"'),
        ("end.", 'ends with "."'),
        ("-rf", 'begins with "-" instead of a letter or a digit'),
        (".hidden", 'begins with "." instead of a letter or a digit'),
        ("x" * 300, "has 300 characters, more than 64"),
        ("é", 'contains "é" (U+00E9)'),
        ("e\u0301", 'contains "\u0301" (U+0301)'),
        ("T\x1b[31m", "contains U+001B"),
        ("１", 'contains "１" (U+FF11)'),
        ("修复", 'contains "修" (U+4FEE)'),
    ],
)
def test_what_cannot_be_an_id_is_told(text: str, wrong: str) -> None:
    assert check_id(text) == wrong


@given(st.text(alphabet="aZ09._-/ ~^:\\é\n@{", max_size=70))
def test_whatever_is_an_id_is_one_plain_part_of_a_path(text: str) -> None:
    if check_id(text) is None:
        assert text.isascii()
        assert not set(text) & set("/\\ ~^:\n@{")
        assert text not in (".", "..")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Toy parser", "Toy-parser"),
        ("Café: the menu!", "Cafe-the-menu"),
        ("a..b", "a.b"),
        ("feature.lock", None),
        ("修复登录问题", None),
        ("Проект 2", None),
        ("🚀🚀🚀", None),
        ("", None),
        ("x" * 400, None),
        ("  -rf  ", "rf"),
    ],
)
def test_an_id_is_made_from_a_title_only_when_no_letter_is_lost(title: str, expected: str | None) -> None:
    assert id_from(title) == expected


@given(st.text())
def test_what_is_made_from_a_title_is_an_id(title: str) -> None:
    made = id_from(title)
    assert made is None or check_id(made) is None
