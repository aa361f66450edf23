"""The commands of the Makefile explain themselves, and refuse with a sentence what cannot work."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    search = "/usr/bin:/bin" if path is None else f"{path}:/usr/bin:/bin"
    environment = {"PATH": search, "HOME": "/nonexistent"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def pretend(tmp_path: Path) -> Path:
    """A folder for programs that pretend to be a Python."""
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_make_alone_names_every_target() -> None:
    targets = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split()
    printed = run("make").stdout
    assert [target for target in targets if f"\n  {target} " not in printed] == []


def test_a_python_that_is_not_there() -> None:
    asked = run("scripts/environment", "dev", "python3.99")
    assert asked.returncode == 3
    assert asked.stderr == (
        "whilly: PYTHON=python3.99 does not run here; name one that does, e.g. make test PYTHON=python3.12.\n"
    )


def test_a_python_that_is_too_old(pretend: Path) -> None:
    program(pretend, "python3.9", "echo old")
    asked = run("scripts/environment", "dev", "python3.9", path=pretend)
    assert asked.returncode == 3
    assert "older than 3.11" in asked.stderr


def test_a_python_without_the_venv_module(pretend: Path) -> None:
    program(pretend, "python3.77", 'case "$2" in *version_info*) echo 3.77 ;; *) exit 1 ;; esac')
    asked = run("scripts/environment", "dev", "python3.77", path=pretend)
    assert asked.returncode == 1
    assert "apt install python3.77-venv" in asked.stderr


def test_a_shim_that_refuses_is_passed_over(pretend: Path) -> None:
    """The default search goes on to the next name; here all of them refuse."""
    for name in ("python3.13", "python3.12", "python3.11", "python3"):
        program(pretend, name, "echo 'not installed' >&2; exit 127")
    asked = run("scripts/environment", "dev", path=pretend)
    assert asked.returncode == 3
    assert "no Python 3.11 or newer was found" in asked.stderr
