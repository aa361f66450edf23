"""One figure, measured several times."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import TypeVar

Contender = TypeVar("Contender")


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one figure, one per round, in the order of the rounds."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, rounds: Iterable[object], pick: Callable[..., float]) -> "Series":
        """What `pick` finds in each round."""
        return cls(tuple(pick(each) for each in rounds))

    @property
    def median(self) -> float:
        """The value that stands for all."""
        return median(self.values)

    def against(self, other: "Series") -> "Series":
        """Ratios to another figure of the same rounds, so that what slows a whole round down falls out."""
        pairs = zip(self.values, other.values, strict=True)
        return Series(tuple(mine / theirs if theirs else inf for mine, theirs in pairs))

    def __str__(self) -> str:
        """Median, and the range where there is one."""
        if len(self.values) == 1:
            return number(self.median)
        return f"{number(self.median)} ({number(min(self.values))}–{number(max(self.values))})"


def number(value: float) -> str:
    """Three digits, more only for what is 1,000 or more."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share (0 to 1) of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def in_turn(contenders: Sequence[Contender], number_of_round: int) -> Sequence[Contender]:
    """The order of a round: there and back, so that nobody always comes after the same one."""
    return contenders if number_of_round % 2 == 0 else contenders[::-1]
