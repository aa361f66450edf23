"""Looks whether the user's folder has changes that no commit has, without touching its index or running its filters."""

import shutil
from pathlib import Path

from whilly.workspace.gitcmd import Git


async def uncommitted_changes(trusted: Path, top: Path, index: Path, *, limit: float = 60.0) -> list[str]:
    """Paths that differ from the trusted directory's HEAD, new files included. Raises GitFailed.

    Looks through a copy of the user's index: git would write what it learns into the original.
    """
    copy = trusted / "users-index"
    try:
        if index.exists():
            shutil.copy2(index, copy)
        git = Git(directory=trusted, work_tree=top, index=copy)
        answer = await git.run(
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
            "--no-renames",
            limit=limit,
        )
        return [entry[3:] for entry in answer.fields]
    finally:
        copy.unlink(missing_ok=True)
