"""Every test of workspaces gets a user's repository of its own."""

from pathlib import Path

import pytest

from tests.workspace.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A user's repository with one commit, and a folder for workspaces."""
    return Ground(tmp_path)
