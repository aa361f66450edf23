"""A user's repository for a worker to work on."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

GIT_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@users.example",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@users.example",
}


@dataclass(frozen=True)
class Repository:
    path: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=GIT_ENVIRONMENT, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def file(self, revision: str, name: str) -> str:
        """A file's content in a commit, or on a branch."""
        return self.git("show", f"{revision}:{name}")

    def branches(self) -> set[str]:
        return set(self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split())

    def footprint(self) -> tuple[str, ...]:
        """What must be the same before and after: HEAD, the index, the files, the configuration."""
        return (
            self.git("rev-parse", "HEAD"),
            self.git("symbolic-ref", "HEAD"),
            self.git("ls-files", "--stage"),
            self.git("status", "--porcelain"),
            (self.path / ".git/config").read_text(encoding="utf-8"),
        )


def new_repository(path: Path, **files: str) -> Repository:
    """A repository with one commit that has these files, and `README.md`."""
    path.mkdir(parents=True)
    repository = Repository(path)
    repository.git("init", "--quiet", "--initial-branch=main")
    for name, content in {"README.md": "A small repository.\n", **files}.items():
        (path / name).write_text(content, encoding="utf-8")
    repository.git("add", ".")
    repository.git("commit", "--quiet", "--message", "Begin")
    return repository
