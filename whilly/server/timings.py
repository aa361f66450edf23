"""What a process measures by itself, until it is added to what all processes have measured."""

import logging

from whilly.operations.count_events import Tally, add_to_tallies
from whilly.server.metric_names import CLAIM_DURATION, LONG_POLL, REQUEST_DURATION, REQUESTS
from whilly.server.metrics_text import Family, bucketed
from whilly.store.database import AWAY, Database

log = logging.getLogger(__name__)

ADD_EVERY = 15.0
"""Seconds: the most that another process's answer is behind, and that a killed one takes with it."""


class Timings:
    """Durations and requests of this process. Noting one takes a microsecond or two."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._new: dict[Tally, float] = {}

    def long_poll(self, seconds: float) -> None:
        """A worker's request for a task was answered after so long."""
        self._observe(LONG_POLL, (), seconds)

    def claim(self, seconds: float) -> None:
        """One look for a task took so long."""
        self._observe(CLAIM_DURATION, (), seconds)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered. `route` is the pattern of its address, of which there are few."""
        self._add((REQUESTS.name, (route, method, f"{status // 100}xx")), 1)
        self._observe(REQUEST_DURATION, (route, method), seconds)

    async def save(self) -> float:
        """Add what is new to the tallies of all processes; says when to do so again."""
        new, self._new = self._new, {}
        try:
            await add_to_tallies(self._database, new)
        except BaseException:
            for tally, amount in new.items():
                self._add(tally, amount)
            raise
        return ADD_EVERY

    async def close(self) -> None:
        """Add what is left, if the database takes it: numbers are no reason to end late or with an error."""
        try:
            await self.save()
        except AWAY as failure:
            log.info("the last durations were not added up: %s", failure)

    def _observe(self, family: Family, labels: tuple[str, ...], seconds: float) -> None:
        self._add((family.name, (*labels, bucketed(family, seconds))), 1)
        self._add((family.name, (*labels, "sum")), seconds)

    def _add(self, tally: Tally, amount: float) -> None:
        self._new[tally] = self._new.get(tally, 0) + amount
