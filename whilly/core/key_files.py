"""When two tasks must not change files at the same time."""

from collections.abc import Iterable


def overlap(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether the sets of paths have a file in common: the same path, or one is a folder that holds the other.

    Paths are relative, with forward slashes and no trailing one, as the plan reader leaves them. The statements
    `next_ready_tasks` and `hold_files` say the same in SQL.
    """
    mine, theirs = set(one), set(other)
    return not (_with_parents(mine).isdisjoint(theirs) and _with_parents(theirs).isdisjoint(mine))


def _with_parents(paths: set[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        parts = path.split("/")
        found.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return found
