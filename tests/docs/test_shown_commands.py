"""Every whilly command that a page shows exists, with the options it is shown with."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[str, str]]:
    for page in sorted(PAGES):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip().startswith("whilly "):
                    yield str(page.relative_to(ROOT)), line.strip()


@pytest.mark.parametrize(("page", "line"), list(shown()))
def test_the_command_exists(page: str, line: str) -> None:
    from whilly.cli.main import app

    command: Any = typer.main.get_command(app)
    words = shlex.split(line.split(" > ")[0], comments=True)[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{page} shows `{line}`"
        command = command.commands[words.pop(0)]
    options = {name for parameter in command.params for name in parameter.opts} | {"--help", "--version"}
    used = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert used - options == set(), f"{page} shows `{line}`"
