"""What the agent's own git directory says, read as data: branches, HEAD, stashes, and where they have been."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whilly.workspace.beneath import is_real_folder, names_beneath, read_beneath
from whilly.workspace.source import COMMIT_ID

_FILE = 4 * 2**20
_FILES = 20_000
"""More than any honest clone has."""

_NEW_IN_REFLOG = re.compile(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LeftRefs:
    """Refs as the agent left them."""

    gone: str = ""
    """Why there is nothing to read: the end of a sentence that begins with "The agent". Empty: all is there."""
    head_ref: str = ""
    """What HEAD stands for: `refs/heads/main`; empty when it is detached."""
    head: str = ""
    """The commit that is checked out; empty for a branch without commits."""
    refs: Mapping[str, str] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    """Every commit that a ref or a reflog names."""


def read_left_refs(git_dir: Path) -> LeftRefs:
    """Read what refs and reflogs say. Never raises for what an agent can do to them."""
    if not is_real_folder(git_dir):
        return LeftRefs(gone="removed or replaced the clone's .git")
    refs = {name: value for name in names_beneath(git_dir, "refs", _FILES) if (value := _commit(git_dir, name))}
    for line in (read_beneath(git_dir, "packed-refs", 4 * _FILE) or b"").splitlines():
        commit, _, name = line.decode("utf-8", "surrogateescape").partition(" ")
        if COMMIT_ID.fullmatch(commit) and name.startswith("refs/"):
            refs.setdefault(name, commit)
    head = _text(git_dir, "HEAD")
    head_ref = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    if not head_ref and not COMMIT_ID.fullmatch(head):
        return LeftRefs(gone="made the clone's HEAD unreadable", refs=refs, named=frozenset(refs.values()))
    commit = refs.get(head_ref, "") if head_ref else head
    named = {commit, *refs.values(), *_logged(git_dir)} - {""}
    named = {each for each in named if each.strip("0")}
    return LeftRefs(head_ref=head_ref, head=commit, refs=refs, named=frozenset(named))


def read_known_refs(trusted: Path) -> dict[str, str]:
    """The refs that the clone had at the start, from the trusted directory."""
    lines = (trusted / "packed-refs").read_bytes().decode("utf-8", "surrogateescape").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line[:1] not in ("#", "^"))
    return {name: commit for commit, name in pairs}


def _logged(git_dir: Path) -> set[str]:
    found: set[str] = set()
    for name in names_beneath(git_dir, "logs", _FILES):
        found.update(_reflog(git_dir, name))
    for name in names_beneath(git_dir, "worktrees", _FILES):
        if name.endswith("/logs/HEAD"):
            found.update(_reflog(git_dir, name))
        elif name.endswith("/HEAD"):
            found.add(_commit(git_dir, name))
    return found


def _reflog(git_dir: Path, name: str) -> list[str]:
    return [each.decode() for each in _NEW_IN_REFLOG.findall(read_beneath(git_dir, name, _FILE) or b"")]


def _commit(git_dir: Path, name: str) -> str:
    text = _text(git_dir, name)
    return text if COMMIT_ID.fullmatch(text) else ""


def _text(git_dir: Path, name: str) -> str:
    return (read_beneath(git_dir, name, 4096) or b"").decode("utf-8", "surrogateescape").strip()
