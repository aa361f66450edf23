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
    pending: tuple[int, ...]
    """Tasks that still wait when a round over HTTP is over."""
    past: int
    """Events that are in the log already, for the last rounds over HTTP."""
    cycles: int
    """Tasks per round over HTTP."""
    rival_cycles: int
    """The same for the contender, which may be forty times slower."""
    idle: int
    """Workers that wait for work."""
    idle_seconds: float
    """Longer than a long poll lasts, so that each of them asks again meanwhile."""
    wakes: int
    beats: int
    """Heartbeats beside slow reads."""
    subscribers: tuple[int, ...]
    """How many watch; the first is what the bars are about."""
    told: int
    """Events that they are told, one by one and in a burst."""
    log: int
    """Events that are in the log already."""
    workers: int
    """Worker processes that are started."""
    may_install: bool
    """Whether a contender that is not there may be fetched from the package index."""


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
    pending=(1_000, 10_000, 100_000),
    past=100_000,
    cycles=3_000,
    rival_cycles=250,
    idle=1_000,
    idle_seconds=40,
    wakes=100,
    beats=500,
    subscribers=(50, 200),
    told=1_000,
    log=10_000_000,
    workers=5,
    may_install=True,
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
    pending=(20, 40),
    past=100,
    cycles=40,
    rival_cycles=10,
    idle=20,
    idle_seconds=1,
    wakes=3,
    beats=5,
    subscribers=(2, 3),
    told=20,
    log=500,
    workers=1,
    may_install=False,
)
