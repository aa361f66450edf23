"""Decides, from what the agent's git says, on which commit its files build and what else has to be kept. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from whilly.workspace.left_behind import LeftRefs


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt's history ends."""

    parent: str
    """The commit that the files in the work tree build on."""
    ahead: str = ""
    """A commit on the task's branch that is not in the history of `parent`: then it is the result."""
    tips: tuple[str, ...] = ()
    """Ends of other history: stashes, abandoned commits, other branches."""
    violated: str = ""
    """What the agent did that it must not do; empty: nothing."""


def ending_of(
    left: LeftRefs, new: Mapping[str, tuple[str, ...]], *, start: str, branch: str, known: Mapping[str, str]
) -> Ending:
    """Judge what was left.

    `new`: the agent's commits with their parents. `branch`: the full name of the task's. `known`: refs at the start,
    where the user's branches are those of `origin`.
    """
    if left.gone:
        return Ending(start, tips=_tips(new, set()), violated=f"The agent {left.gone}.")
    violations = _moved(left, known)
    builds = left.head == start or _builds_on(left.head, start, new)
    parent = left.head if builds else start
    if not builds:
        where = f"commit {left.head[:12]}" if left.head else "a branch without commits"
        violations.append(f"The agent left HEAD at {where}, which does not build on the start of the task.")
    ahead = ""
    tip = left.refs.get(branch, "")
    if tip and tip != start:
        if not _builds_on(tip, start, new):
            violations.append(f"The agent moved branch {_short(branch)} to a commit that does not build on its start.")
        elif tip != parent and not _builds_on(parent, tip, new):
            ahead = tip
    return Ending(parent, ahead, _tips(new, {ahead or parent}), " ".join(violations))


def _moved(left: LeftRefs, known: Mapping[str, str]) -> list[str]:
    """The user's branches and tags are the agent's to read, also in its clone, where moving them harms nobody."""
    moved = []
    for name, commit in sorted(known.items()):
        local = name.replace("refs/remotes/origin/", "refs/heads/", 1)
        if left.refs.get(name, commit) != commit or left.refs.get(local, commit) != commit:
            moved.append(_short(local))
    if not moved:
        return []
    shown = ", ".join(moved[:3]) + (f" and {len(moved) - 3} more" if len(moved) > 3 else "")
    return [f"The agent moved what is not the task's: {shown}."]


def _builds_on(commit: str, older: str, new: Mapping[str, tuple[str, ...]]) -> bool:
    waiting, seen = [commit], set[str]()
    while waiting:
        here = waiting.pop()
        if here == older:
            return True
        if here not in seen:
            seen.add(here)
            waiting += new.get(here, ())
    return False


def _tips(new: Mapping[str, tuple[str, ...]], without: set[str]) -> tuple[str, ...]:
    inner = {parent for parents in new.values() for parent in parents}
    return tuple(sorted(set(new) - inner - without))


def _short(name: str) -> str:
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("refs/remotes/")
