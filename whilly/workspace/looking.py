"""Looks at what an attempt left, without running anything of it, and prepares it for trusted git."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from whilly.workspace.agent_objects import link_agent_objects
from whilly.workspace.attempt import ASIDE, BORROWED, COLLECTED, OWNER, RECORD, TRUSTED, WORK, Workspace
from whilly.workspace.beneath import is_real_folder
from whilly.workspace.left_behind import LeftRefs, read_known_refs, read_left_refs
from whilly.workspace.source import Source, look_at
from whilly.workspace.tree import linked_worktrees_beside, look_through, set_aside

_OURS = (ASIDE, BORROWED, COLLECTED, OWNER, RECORD, TRUSTED, WORK)


@dataclass(frozen=True, slots=True)
class Looked:
    """What there is to collect."""

    left: LeftRefs = field(default_factory=LeftRefs)
    known: dict[str, str] = field(default_factory=dict)
    """The user's refs, which the agent shall leave alone."""
    borrowed: tuple[Path, ...] = ()
    """Where the agent's objects can be read."""
    leave_out: tuple[str, ...] = ()
    """Folders that are not part of the result."""
    worktrees: tuple[Path, ...] = ()
    """Further worktrees of the clone, with files of their own."""
    files_gone: bool = False
    violated: str = ""
    notes: tuple[str, ...] = ()


def look_into_clone(workspace: Workspace) -> Looked:
    """Take out of the clone what trusted git must not meet, and read what the agent's own git says."""
    path, home = workspace.path, workspace.home
    if not is_real_folder(path):
        return Looked(files_gone=True, violated="The agent removed or replaced the folder that it was given.")
    violated = ""
    seen = path.lstat()
    if (seen.st_dev, seen.st_ino) != workspace.identity:
        violated = "The agent put another folder in the place of the one that it was given."
    odd = look_through(path, workspace.gitlinks)
    set_aside(path, [*(f"{each}/.git" for each in odd.repositories), *odd.special], home / ASIDE)
    # A submodule that the agent filled stays a submodule at the commit it had.
    set_aside(path, [f"{each}/.git" for each in workspace.gitlinks if (path / each / ".git").exists()], home / ASIDE)
    left = read_left_refs(path / ".git")
    known = read_known_refs(workspace.trusted)
    borrowed: tuple[Path, ...] = ()
    if left.named - {workspace.start_commit, *known.values()}:
        borrowed = (home / BORROWED,)
        link_agent_objects(path / ".git" / "objects", workspace.repository / "objects", home / BORROWED)
    beside = [each for each in linked_worktrees_beside(home, _OURS) if not each.name.startswith("checks-")]
    return Looked(
        left=left,
        known=known,
        borrowed=borrowed,
        leave_out=(*workspace.gitlinks, *odd.worktrees),
        worktrees=(*(path / each for each in odd.worktrees), *beside),
        violated=violated,
        notes=_notes(odd.repositories, odd.special),
    )


async def look_in_place(workspace: Workspace) -> Looked:
    """In the user's own folder nothing is moved: what trusted git must not meet is left out instead."""
    repository = await look_at(Source(workspace.path))
    odd = look_through(workspace.path, workspace.gitlinks)
    refs = {repository.branch: repository.head} if repository.branch else {}
    left = LeftRefs(
        head_ref=repository.branch, head=repository.head, refs=refs, named=frozenset({repository.head} - {""})
    )
    violated = ""
    if repository.branch != workspace.ref:
        now = repository.branch.removeprefix("refs/heads/") or "no branch"
        violated = f"The agent left branch {workspace.branch} for {now}."
    return Looked(
        left=left,
        leave_out=(*workspace.gitlinks, *odd.repositories, *odd.worktrees),
        violated=violated,
        notes=_notes(odd.repositories, ()),
    )


def unreadable(looked: Looked) -> Looked:
    """The same without the agent's commits, which cannot be read."""
    return replace(looked, borrowed=(), left=replace(looked.left, gone="left commits that cannot be read"))


def _notes(repositories: Collection[str], special: Collection[str]) -> tuple[str, ...]:
    notes = []
    if repositories:
        notes.append(f"Of a git repository inside of the work tree the files are kept: {_some(repositories)}.")
    if special:
        notes.append(f"Pipes, sockets and devices are not kept: {_some(special)}.")
    return tuple(notes)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
