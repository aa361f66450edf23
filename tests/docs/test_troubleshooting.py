"""The messages that troubleshooting is indexed by are those that the program says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = re.findall(r"^### `(.+)`$", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
SOURCES = [*(ROOT / "whilly").rglob("*.py"), ROOT / "scripts" / "environment"]
SAID = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_says_so(message: str) -> None:
    pieces = [piece.strip(" ,") for piece in message.split("…")]
    assert [piece for piece in pieces if piece not in SAID] == []
