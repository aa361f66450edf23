"""What a bench found: one table."""

from dataclasses import dataclass

from bench.series import Series, number

HEAD = ("figure", "Whilly", "contender", "ratio", "bar", "CPU per operation")


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that has to be reached: by the value itself, or by its ratio to the contender's."""

    at_least: float | None = None
    at_most: float | None = None
    ratio: bool = False

    def judge(self, ours: Series, ratio: Series | None) -> str:
        """The bar in words, and whether it is met."""
        found = ratio if self.ratio else ours
        if found is None:
            return "no contender to compare with"
        high_enough = self.at_least is None or found.median >= self.at_least
        low_enough = self.at_most is None or found.median <= self.at_most
        limits = [f"≥ {number(self.at_least)}"] if self.at_least is not None else []
        limits += [f"≤ {number(self.at_most)}"] if self.at_most is not None else []
        what = "ratio " if self.ratio else ""
        return f"{what}{' and '.join(limits)}: {'met' if high_enough and low_enough else 'NOT MET'}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table."""

    name: str
    ours: Series
    bar: Bar | None = None
    against: str = ""
    """Who the contender is; empty without one."""
    theirs: Series | None = None
    cpu: str = ""

    def cells(self) -> tuple[str, ...]:
        """One text per column of HEAD."""
        ratio = self.ours.against(self.theirs) if self.theirs else None
        bar = self.bar.judge(self.ours, ratio) if self.bar else ""
        contender = f"{self.against}: {self.theirs}" if self.theirs else self.against
        return self.name, str(self.ours), contender, str(ratio or ""), bar, self.cpu


@dataclass(frozen=True, slots=True)
class Table:
    """All figures of a bench, and what a reader has to know about them."""

    title: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Markdown that also lines up in a terminal."""
        rows = [HEAD, *(figure.cells() for figure in self.figures)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
        ]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        return "\n".join([f"## {self.title}", "", lines[0], rule, *lines[1:], *("\n" + note for note in self.notes)])
