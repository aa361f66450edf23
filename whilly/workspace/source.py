"""The user's repository: what kind it is, where its parts are, what it has at the moment. Only ever looked at here."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from whilly.workspace.errors import GitFailed, RepositoryUnusable, WorkspaceFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.owner import owner_to_act_as

_ANY_OWNER = Path(__file__).with_name("any_owner.gitconfig")

COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Source:
    """Where tasks get their files from: a local repository, a folder in one, a linked worktree or a bare repository."""

    path: Path
    branches: str = "refs/heads"
    """Where the branches are that agents find as those of `origin`."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A local repository as it was when it was looked at."""

    git_dir: Path
    """Of this worktree: its HEAD and index are in here."""
    common_dir: Path
    """Shared by all its worktrees: objects, refs and configuration."""
    top: Path | None
    """The folder with the user's files; None for a bare repository."""
    object_format: str
    """`sha1` or `sha256`."""
    shallow: bool
    head: str
    """The commit that is checked out; empty when there are no commits yet."""
    branch: str
    """The branch that is checked out, as `refs/heads/main`; empty for a detached HEAD."""

    def git(self) -> Git:
        """For commands on objects and refs; with the user's own configuration, minus all that names a program."""
        return Git(directory=self.common_dir, cwd=self.common_dir, owner=owner_to_act_as(self.common_dir))


async def look_at(source: Source) -> Repository:
    """Find out what the path is. Raises RepositoryUnusable with one sentence when it cannot be worked with."""
    path = source.path
    if not path.exists():
        raise RepositoryUnusable(f"{path} does not exist; name an existing git repository with --repo.")
    if not path.is_dir():
        raise RepositoryUnusable(f"{path} is a file; name the folder of a git repository with --repo.")
    path = path.resolve()
    # Before git 2.38, only a file could say that ownership decides nothing.
    git = Git(cwd=path, environment={"GIT_CONFIG_GLOBAL": os.fspath(_ANY_OWNER)})
    answer = await git.run(
        "rev-parse",
        "--git-dir",
        "--git-common-dir",
        "--show-object-format",
        "--is-shallow-repository",
        "--is-inside-work-tree",
        "--show-cdup",
        "HEAD",
        "--symbolic-full-name",
        "HEAD",
        accept=(0, 128),
    )
    if answer.code == 128 and not answer.out:
        if "not a git repository" in answer.err:
            raise RepositoryUnusable(
                f"{path} is not a git repository; run `git init` there or name another with --repo."
            )
        raise GitFailed(f"{path} cannot be read as a git repository: {answer.err.strip()}", command="rev-parse")
    git_dir, common_dir, object_format, shallow, inside, *rest = answer.text.split("\n")
    # Outside of a work tree `--show-cdup` prints nothing at all.
    up = rest.pop(0) if inside == "true" else None
    head, branch = (rest[0], rest[1]) if len(rest) >= 2 and COMMIT_ID.fullmatch(rest[0]) else ("", "")
    return Repository(
        git_dir=_absolute(path, git_dir),
        common_dir=_absolute(path, common_dir),
        top=None if up is None else _absolute(path, up),
        object_format=object_format,
        shallow=shallow == "true",
        head=head,
        branch="" if branch == "HEAD" else branch,
    )


async def refs_for_a_clone(repository: Repository, branches: str) -> bytes:
    """The user's branches, as branches of `origin`, and tags; in the format of `packed-refs`.

    Without the results of other tasks: what a task builds on is in its history.
    """
    form = "%(refname) %(objectname) %(*objectname)"
    answer = await repository.git().run("for-each-ref", f"--format={form}", branches, "refs/tags")
    entries = []
    for line in answer.out.splitlines():
        name, commit, *peeled = line.split(b" ")
        if not name.startswith(b"refs/heads/whilly/"):
            entries.append((name.replace(b"refs/heads/", b"refs/remotes/origin/", 1), commit, b"".join(peeled)))
    lines = [b"# pack-refs with: peeled fully-peeled sorted \n"]
    for name, commit, inner in sorted(entries):
        lines.append(commit + b" " + name + b"\n" + (b"^" + inner + b"\n" if inner else b""))
    return b"".join(lines)


async def committed_at(git: Git, commits: list[str]) -> dict[str, int | None]:
    """When each commit was made (seconds since 1970); None for one that is not there or is no commit."""
    if not commits:
        return {}
    unnamed = [commit for commit in commits if not COMMIT_ID.fullmatch(commit)]
    if unnamed:
        raise WorkspaceFailed(f"{unnamed[0]!r} is not the full name of a commit.")
    answer = await git.run("cat-file", "--batch", feed="".join(f"{commit}\n" for commit in commits).encode())
    found: dict[str, int | None] = {}
    rest = answer.out
    for commit in commits:
        header, _, rest = rest.partition(b"\n")
        words = header.split()
        if words[-1] == b"missing":
            found[commit] = None
            continue
        size = int(words[2])
        found[commit] = _committer_date(rest[:size]) if words[1] == b"commit" else None
        rest = rest[size + 1 :]
    return found


def _committer_date(commit: bytes) -> int:
    for line in commit.split(b"\n\n", 1)[0].split(b"\n"):
        if line.startswith(b"committer ") and (date := re.search(rb"> (\d+) [+-]\d+$", line)):
            return int(date.group(1))
    return 0


def _absolute(start: Path, name: str) -> Path:
    return Path(os.path.normpath(start / name))
