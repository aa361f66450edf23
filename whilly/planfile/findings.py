"""What one reading of one file has found so far, by place in the document. Lines are looked up at the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from whilly.planfile.limits import Limits

Thing = TypeVar("Thing")

Step: TypeAlias = str | int | tuple[str, int]
"""A key, an index, or (key, n): the n-th time that an object repeats the key, from 1 for the first repetition."""

Path: TypeAlias = tuple[Step, ...]
"""From the top of the document to a value: `("tasks", 3, "dependencies", 0)`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake or a note, before its line is known."""

    place: Path | int
    """A path, or the line itself when the document could not be read."""
    what: str
    remedy: str
    see: Path | None = None
    """Another place that the reader of the sentence will want to look at."""


class Tally(Generic[Thing]):
    """Things that deserve one note however often they happen: how often, and where first."""

    LARGEST = 50
    """Different things counted by name; the rest only adds up, so that a hostile file cannot print for ever."""

    def __init__(self) -> None:
        self._met: dict[Thing, tuple[int, Path]] = {}
        self.nameless = 0

    def meet(self, thing: Thing, place: Path) -> None:
        """Count it."""
        if met := self._met.get(thing):
            self._met[thing] = (met[0] + 1, met[1])
        elif len(self._met) < self.LARGEST:
            self._met[thing] = (1, place)
        else:
            self.nameless += 1

    def __iter__(self) -> Iterator[tuple[Thing, int, Path]]:
        for thing, (count, place) in self._met.items():
            yield thing, count, place


class Findings:
    """Collects in any order."""

    MOST_PROBLEMS = 10_000
    """Kept with their places; a hostile file has room for millions, and the rest is only counted."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.problems: list[Finding] = []
        self.not_kept = 0
        self.notes: list[Finding] = []
        self.ignored_keys = Tally[tuple[str, str]]()
        """(kind of object, key)."""
        self.restarted = Tally[str]()
        """Statuses of a run in progress, which start again as PENDING."""

    def problem(self, place: Path | int, what: str, remedy: str, see: Path | None = None) -> None:
        """Something that keeps the file from being a plan."""
        if len(self.problems) < self.MOST_PROBLEMS:
            self.problems.append(Finding(place, what, remedy, see))
        else:
            self.not_kept += 1

    def note(self, place: Path | int, what: str, remedy: str) -> None:
        """Something that was understood, perhaps otherwise than it was meant."""
        self.notes.append(Finding(place, what, remedy))
