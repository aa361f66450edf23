"""A user's repository to work on, and an agent that behaves as told."""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from whilly.workspace.attempt import Workspace
from whilly.workspace.clone import prepare
from whilly.workspace.source import Source
from whilly.workspace.space import Floor

NO_FLOOR = Floor(bytes=0, files=0)

WHILLYS_OWN = ("objects", "refs/whilly", "refs/heads/whilly", "logs/refs/whilly", "logs/refs/heads/whilly")
"""Parts of the user's `.git` that publishing may write."""

Snapshot = dict[str, tuple[object, ...]]


def git(folder: Path, *arguments: str, check: bool = True, environment: Mapping[str, str] | None = None) -> str:
    """Plain git, as a person or an agent runs it; without the settings of whoever runs the tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **(environment or {})}
    done = subprocess.run(["git", *arguments], cwd=folder, env=clean, capture_output=True, check=False)
    assert not check or done.returncode == 0, f"git {arguments}: {done.stderr.decode(errors='replace')}"
    return os.fsdecode(done.stdout).strip()


class UsersRepository:
    """A repository with one commit, and what can be asked about it."""

    def __init__(self, path: Path, *init: str, empty: bool = False) -> None:
        self.path = path
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main", *init)
        self.set_identity()
        if not empty:
            self.commit("First", {"README.md": "Hello\n", "src/app.py": "print('hello')\n", "run.sh": "#!/bin/sh\n"})

    @property
    def source(self) -> Source:
        return Source(self.path)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def set_identity(self) -> None:
        self.git("config", "user.name", "A User")
        self.git("config", "user.email", "user@example.com")

    def git(self, *arguments: str, check: bool = True) -> str:
        return git(self.path, *arguments, check=check)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, message: str, files: Mapping[str, str | bytes]) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "-m", message)
        return self.head

    def refs(self) -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def files_of(self, commit: str) -> dict[str, str]:
        """Name and content of every file; submodules left out."""
        entries = [entry for entry in self.git("ls-tree", "-r", "-z", commit).split("\0") if " blob " in entry]
        names = [entry.split("\t", 1)[1] for entry in entries]
        return {name: self.git("show", f"{commit}:{name}") for name in names}

    def reachable_files(self, ref: str) -> set[str]:
        """The content of every file in every commit that the ref reaches."""
        listed = self.git("rev-list", "--objects", "--filter-print-omitted", ref).splitlines()
        found = set()
        for line in listed:
            name = line.split(" ")[0]
            if self.git("cat-file", "-t", name) == "blob":
                found.add(self.git("cat-file", "blob", name))
        return found

    def is_sound(self) -> None:
        """Raise unless git finds nothing wrong with the repository."""
        said = self.git("fsck", "--full", "--strict", "--no-dangling")
        assert said == "", said

    def snapshot(self) -> Snapshot:
        """All that a user could notice: files with times, index, HEAD, configuration, hooks, refs, logs."""
        own = Path(self.git("rev-parse", "--absolute-git-dir"))
        common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        seen = _everything_in(self.path, skip=())
        for git_dir in {own, common}:
            seen |= {f"git:{name}": value for name, value in _everything_in(git_dir, skip=WHILLYS_OWN).items()}
        return seen


def _everything_in(top: Path, skip: tuple[str, ...]) -> Snapshot:
    seen: Snapshot = {}
    waiting = [top]
    while waiting:
        for path in waiting.pop().iterdir():
            name = path.relative_to(top).as_posix()
            if name in skip or (not skip and name == ".git" and path.is_dir()):
                continue
            info = path.lstat()
            if stat.S_ISDIR(info.st_mode):
                waiting.append(path)
                if not skip:
                    # In `.git`, an empty folder means nothing.
                    seen[name] = (info.st_mode,)
            elif stat.S_ISLNK(info.st_mode):
                seen[name] = (info.st_mode, str(path.readlink()))
            else:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                seen[name] = (info.st_mode, info.st_mtime_ns, info.st_ino, info.st_uid, content)
    return seen


class Agent:
    """Works in a workspace as an agent would: with files, and with plain git."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.path = workspace.path

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def git(self, *arguments: str, check: bool = True) -> str:
        return git(self.path, *arguments, check=check)

    def commit(self, message: str, files: Mapping[str, str | bytes]) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")


class Ground:
    """A user's repository and a folder for workspaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "workspaces"
        self.users = UsersRepository(folder / "project")

    async def prepare(self, task: str = "T1", *, epoch: int = 1, source: Source | None = None, **how: Any) -> Workspace:
        """A workspace of plan `demo`."""
        how = {"floor": NO_FLOOR, "title": "Say hello", **how}
        return await prepare(source or self.users.source, root=self.root, plan="demo", task=task, epoch=epoch, **how)

    def leftovers(self) -> list[str]:
        """What lies in the folder of the workspaces besides locks and packs."""
        if not self.root.exists():
            return []
        return sorted(path.name for path in self.root.iterdir() if path.name not in ("locks", "packs"))


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
