"""What a worker offers, what a task wants of it, and whether the one is enough for the other."""

from collections.abc import Sequence
from dataclasses import dataclass

RUNGS = ("none", "clone", "bwrap", "container")
"""The isolation ladder, weakest first."""


def rung(isolation: str) -> int:
    """How high on the ladder; 0 for an empty or unheard-of name, so that what nobody knows proves nothing."""
    return RUNGS.index(isolation) if isolation in RUNGS else 0


@dataclass(frozen=True, slots=True)
class Offer:
    """What one worker has."""

    agents: tuple[str, ...] = ()
    """Names of the agents that it can run."""
    tags: tuple[str, ...] = ()
    isolation: str = "clone"


@dataclass(frozen=True, slots=True)
class Wants:
    """What a task asks of its worker. `store/sql/next_ready_tasks.sql` says the same to the database."""

    agent: str = ""
    """Empty: any."""
    tags: tuple[str, ...] = ()
    """All of them."""
    isolation: str = ""
    """At least this rung; empty: any."""


def serves(offer: Offer, wants: Wants) -> bool:
    """Whether a worker with this offer may take a task that wants this."""
    has_agent = not wants.agent or wants.agent in offer.agents
    return has_agent and set(wants.tags) <= set(offer.tags) and rung(offer.isolation) >= rung(wants.isolation)


def what_nobody_has(wants: Wants, offers: Sequence[Offer]) -> str:
    """What no worker offers, as `agent codex` or `tag gpu`; empty when one of them serves."""
    if any(serves(offer, wants) for offer in offers):
        return ""
    agents = {agent for offer in offers for agent in offer.agents}
    tags = {tag for offer in offers for tag in offer.tags}
    highest = max((rung(offer.isolation) for offer in offers), default=0)
    missing = [f"agent {wants.agent}"] if wants.agent and wants.agent not in agents else []
    missing += [f"tag {tag}" for tag in wants.tags if tag not in tags]
    if rung(wants.isolation) > highest:
        missing.append(f"isolation {wants.isolation}")
    return _together(missing) if missing else f"{_together(_all(wants))} at once"


def _all(wants: Wants) -> list[str]:
    agent = [f"agent {wants.agent}"] if wants.agent else []
    isolation = [f"isolation {wants.isolation}"] if rung(wants.isolation) else []
    return [*agent, *(f"tag {tag}" for tag in wants.tags), *isolation]


def _together(things: list[str]) -> str:
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"
