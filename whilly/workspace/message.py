"""The text of the commits that Whilly makes."""

import re
from collections.abc import Sequence

SUBJECT = 72
"""Characters; longer titles end in an ellipsis."""

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
"""Control characters, terminal escapes included, what turns the reading direction, and half emoji."""


def result_message(plan: str, task: str, epoch: int, title: str) -> bytes:
    """For what the agent left uncommitted. The task can be read from the trailers by a program."""
    first = next((line for line in title.splitlines() if line.strip()), "")
    plain = " ".join(_UNSEEN.sub(" ", first).split())
    subject = f"{task}: {plain}" if plain else f"{task}: What the agent left"
    if len(subject) > SUBJECT:
        subject = f"{subject[: SUBJECT - 1].rstrip()}…"
    return f"{subject}\n\n{_trailers(plan, task, epoch)}".encode()


def kept_message(plan: str, task: str, epoch: int, kept: Sequence[tuple[str, str]]) -> bytes:
    """For the commit that holds together what an attempt left: pairs of a commit and what it is."""
    lines = "\n".join(f"{commit} {what}" for commit, what in kept)
    return f"{task}: All that attempt {epoch} left\n\n{lines}\n\n{_trailers(plan, task, epoch)}".encode()


def _trailers(plan: str, task: str, epoch: int) -> str:
    return f"Whilly-Plan: {plan}\nWhilly-Task: {task}\nWhilly-Attempt: {epoch}\n"
