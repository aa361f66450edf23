"""Where the real agent programs are, for tests marked `agents`."""

import os
import shutil
from pathlib import Path

import pytest

# Read before the tests' own environment takes the place of the one they were started in.
FOLDER = Path(os.environ.get("WHILLY_TEST_AGENTS") or Path.home() / ".cache" / "whilly-agents")
NEEDED = os.environ.get("CI") == "true" or "agents" in os.environ.get("WHILLY_TEST_REQUIRE", "").split()


def installed_claude() -> str:
    """The program's path. Without it the test is left out; where CI asks for it, its absence is an error."""
    for candidate in (os.environ.get("CLAUDE_BIN"), FOLDER / "node_modules" / ".bin" / "claude"):
        if candidate and (found := shutil.which(candidate)):
            return found
    if NEEDED:
        pytest.fail("Claude Code is not installed; .ci/install-agents does it.")
    pytest.skip("Claude Code is not installed; .ci/install-agents does it")
