"""Every whilly command that a page shows or a message recommends exists, with the options it is shown with."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
SENTENCE = re.compile(r"`(whilly [^`\n]+)`")
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[str, str]]:
    for page in sorted(PAGES):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip().startswith("whilly "):
                    yield str(page.relative_to(ROOT)), line.strip()


def recommended() -> Iterator[tuple[str, str]]:
    """In backticks: in sentences of the pages, and in what the program says (with its placeholders filled)."""
    for page in sorted([*PAGES, *(ROOT / "whilly").rglob("*.py")]):
        for line in SENTENCE.findall(page.read_text(encoding="utf-8")):
            filled = re.sub(r"\{[^{}]*\}", "X", line).replace("\\", "")
            if "{" not in filled:  # Else it is put together in a way that only running it could tell.
                yield str(page.relative_to(ROOT)), filled


@pytest.mark.parametrize(("page", "line"), sorted({*shown(), *recommended()}))
def test_the_command_exists(page: str, line: str) -> None:
    from whilly.cli.main import app

    command: Any = typer.main.get_command(app)
    words = shlex.split(line.split(" > ")[0], comments=True)[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] in ("…", "COMMAND"):
            return
        choices = words.pop(0).split("|")
        assert set(choices) <= set(command.commands), f"{page} shows `{line}`"
        command = command.commands[choices[0]]
    options = {name for parameter in command.params for name in parameter.opts} | {"--help", "--version"}
    used = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert used - options == set(), f"{page} shows `{line}`"
