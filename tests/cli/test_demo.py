"""`whilly demo` as a person starts it: a process of its own, from nothing to verified commits, and nothing left."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

COMMAND = (sys.executable, "-c", "from whilly.cli.main import main; main()", "demo")


@contextmanager
def demo(*arguments: str, scratch: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command, with its temporary files in `scratch`."""
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        (*COMMAND, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=environment,
        start_new_session=True,
    )
    try:
        with process:
            yield process
    finally:
        if process.poll() is None:
            process.kill()


def left_over(scratch: Path) -> list[str]:
    """Processes that still work in the scratch folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = [*(process.info["cmdline"] or ()), process.info["cwd"] or ""]
        if any(str(scratch) in word for word in words):
            found.append(" ".join(words))
    return found


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short, for the embedded server's socket has to fit into its address."""
    return tmp_path_factory.mktemp("d")


@pytest.mark.slow
def test_with_exit_it_approves_by_itself_and_ends_well(scratch: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with demo("--exit", "--keep", str(kept), scratch=scratch) as process:
        told = process.communicate(timeout=100)[0]
    assert process.returncode == 0, told
    assert "polish      was refused by the gate" in told
    assert "gets a repair attempt" in told
    assert "waits for a decision" in told
    assert "5 DONE, 1 SKIPPED" in told
    branches = subprocess.run(
        ("git", "branch", "--list", "whilly/demo/*"), cwd=kept / "repo", capture_output=True, check=True, text=True
    ).stdout.split()
    assert set(branches) == {f"whilly/demo/{task}" for task in ("average", "fahrenheit", "frost", "page", "report")}
    assert left_over(scratch) + left_over(kept) == []


@pytest.mark.slow
def test_it_stays_up_until_interrupted_and_leaves_nothing(scratch: Path) -> None:
    with demo(scratch=scratch) as process:
        assert process.stdout is not None
        told = ""
        while not (link := re.search(r"http://127\.0\.0\.1:\d+/login/\S+", told)):
            line = process.stdout.readline()
            assert line, told
            told += line
        with urllib.request.urlopen(link[0], timeout=10) as answer:
            assert answer.status == 200
        for line in process.stdout:
            told += line
            if "waits for a decision" in line:
                break
        process.send_signal(signal.SIGINT)
        told += process.stdout.read()
        assert process.wait(20) == 0, told
    assert "Stopping." in told
    assert "Traceback" not in told
    assert left_over(scratch) == []
    assert list(scratch.iterdir()) == []


def test_a_folder_that_is_in_use_is_left_alone(scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with demo("--keep", str(tmp_path), scratch=scratch) as process:
        told = process.communicate(timeout=30)[0]
    assert process.returncode == 2
    assert "is not empty" in told
    assert "Traceback" not in told
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]
