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


def add_results(repository: Path, count: int) -> None:
    """As many results of earlier tasks, each as an attempt leaves it: a commit of its own, its branch, its ref."""
    told = "".join(_result(number, ref) for number in range(count) for ref in ("heads/whilly", "whilly"))
    command = ("git", "-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet")
    subprocess.run(command, cwd=repository, input=told.encode(), check=True, capture_output=True)


def _result(number: int, ref: str) -> str:
    content, about = f"result {number}\n", f"Result {number}"
    return (
        f"commit refs/{ref}/earlier/T{number}\ncommitter Bench <bench@example.com> {1_700_000_000 + number} +0000\n"
        f"data {len(about)}\n{about}\nfrom refs/heads/main^0\n"
        f"M 100644 inline result-{number}.md\ndata {len(content)}\n{content}\n"
    )


IDENTITY = ("-c", "user.name=Bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false")
