"""Statuses as people see them in a terminal."""

from whilly.core.plan import Status

WIDTH = max(len(status) for status in Status)

_COLOURS = {
    Status.PENDING: "37",
    Status.CLAIMED: "36",
    Status.IN_PROGRESS: "33",
    Status.HUMAN_LOOP: "35",
    Status.BLOCKED: "35",
    Status.DONE: "32",
    Status.FAILED: "31",
    Status.SKIPPED: "90",
}


def badge(status: Status, *, colour: bool) -> str:
    """`[DONE       ]`, always as wide, in the status's colour if colours are wanted."""
    text = f"[{status.value:<{WIDTH}}]"
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m" if colour else text


def faint(text: str, *, colour: bool) -> str:
    """Less prominent, if colours are wanted."""
    return f"\x1b[2m{text}\x1b[0m" if colour else text
