"""How much a bench does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rounds and amounts; figures of the small one say nothing but that the bench runs."""

    rounds: int
    queue: int
    """Tasks per round and contender."""
    backlogs: tuple[int, ...]
    old_events: int
    backlog: int
    """Tasks per round and backlog."""
    imports: tuple[int, ...]
    dependants: int
    overhead: int
    """Tasks whose overhead is measured."""
    results: int
    """Results that the repository has already, for the last of the figures."""
    starts: int


FULL = Sizes(
    rounds=5,
    queue=3_000,
    backlogs=(100_000, 1_000_000),
    old_events=1_000_000,
    backlog=1_500,
    imports=(10_000, 100_000),
    dependants=40,
    overhead=20,
    results=500,
    starts=7,
)

QUICK = Sizes(
    rounds=1,
    queue=60,
    backlogs=(500, 1_500),
    old_events=1_000,
    backlog=40,
    imports=(50, 100),
    dependants=2,
    overhead=2,
    results=5,
    starts=1,
)
