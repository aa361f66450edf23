"""A small git repository to work on."""

import subprocess
from pathlib import Path

FILES = 30


def make_repository(place: Path) -> Path:
    """A repository with a few modules, one commit and nothing uncommitted."""
    repository = place / "repository"
    (repository / "src").mkdir(parents=True)
    for number in range(FILES):
        lines = [f"def function_{number}_{line}() -> int:\n    return {line}\n" for line in range(20)]
        (repository / "src" / f"module_{number}.py").write_text("\n\n".join(lines), encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*IDENTITY, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
    return repository


IDENTITY = ("-c", "user.name=Bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false")
