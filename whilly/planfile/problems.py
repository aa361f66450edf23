"""What a reader has to say about a plan file: one line each, with the place and the remedy."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, or (among the notes of a reading) something worth knowing."""

    source: str
    """The file, as the person named it."""
    line: int
    """From 1."""
    task: str
    """The task's id; `tasks[3]` when it has none; empty when no task is concerned."""
    what: str
    """A sentence without its full stop."""
    remedy: str
    """What to write instead: a whole sentence."""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}: " + (f"{self.task}: " if self.task else "")
        return f"{place}{self.what}. {self.remedy}"


def quoted(text: str, longest: int = 60) -> str:
    """A text from outside in double quotes, short and on one line; what a terminal obeys or hides is escaped."""
    return '"' + visible(text, longest, also_escaped='"\\') + '"'


def visible(text: str, longest: int = 80, also_escaped: str = "") -> str:
    """The same without quotes."""
    shortened = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() and c not in also_escaped else json.dumps(c)[1:-1] for c in shortened)


def kind_of(value: object) -> str:
    """What a JSON value is, in words, with the value itself where it is short: `the number 5`, `a list`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(value, 40)}"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else f"the number {visible(str(value), 40)}"
