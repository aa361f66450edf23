"""Claims that found nothing wait here, and none of them sleeps through work that came in the meantime.

A claim notes the generation of its plan, asks the database, and parks only if the generation is still the same: a
wake-up between "nothing found" and "parked" makes it ask again. Whoever changes something that may let a task run
calls `wake` after its commit. A wake-up rouses only a few of those who wait; each that finds a task rouses the next,
so a thousand idle workers cost no more than a few statements, and a thousand new tasks still reach all of them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Hashable, Iterator

Line = tuple[str, Hashable]
"""Those who wait for the same: a plan, and what they can do."""

AT_ONCE = 8
"""How many of a line one wake-up rouses."""


class Wakeups:
    """Who waits for work, and the generation of every plan."""

    def __init__(self) -> None:
        self._parked: dict[Line, dict[asyncio.Future[bool], None]] = {}
        self._generations: defaultdict[str, int] = defaultdict(int)
        self._everywhere = 0
        self.closed = False
        """Nobody may park any more."""

    def __len__(self) -> int:
        return sum(len(line) for line in self._parked.values())

    def generation(self, plan: str) -> int:
        """Rises with each wake-up that concerns the plan. Read it before looking for work."""
        return self._everywhere + self._generations.get(plan, 0)

    async def wait(self, line: Line, seen: int, seconds: float) -> bool:
        """Park until it is worth asking again (True) or the time is over (False). `seen`: the generation before."""
        if self.closed or self.generation(line[0]) != seen:
            return not self.closed
        loop = asyncio.get_running_loop()
        place: asyncio.Future[bool] = loop.create_future()
        places = self._parked.setdefault(line, {})
        places[place] = None
        timer = loop.call_later(seconds, _over, place)
        try:
            roused = await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                # Roused and given up in the same moment: the task that it was roused for is somebody else's now.
                self.pass_on(line)
            raise
        finally:
            timer.cancel()
            places.pop(place, None)
            if not places and self._parked.get(line) is places:
                del self._parked[line]
        return roused and not self.closed

    def wake(self, plan: str | None = None) -> None:
        """Something may be claimable in this plan, or in any. Call it after the commit that made it so."""
        if plan is None:
            self._everywhere += 1
        else:
            self._generations[plan] += 1
        for line in self._lines(plan):
            self._rouse(line, AT_ONCE)

    def pass_on(self, line: Line) -> None:
        """A claim was successful: there may be more where that came from."""
        self._rouse(line, 1)

    def look_again(self) -> None:
        """The safety net, for what nobody announced: a wait that ended, a message that was lost."""
        for line in self._lines(None):
            self._rouse(line, 1)

    def close(self) -> None:
        """Send everybody away, and let nobody park any more."""
        self.closed = True
        for line in self._lines(None):
            self._rouse(line, len(self._parked[line]))

    def _lines(self, plan: str | None) -> Iterator[Line]:
        return (line for line in list(self._parked) if plan is None or line[0] == plan)

    def _rouse(self, line: Line, count: int) -> None:
        for place in self._parked.get(line, {}):
            if count == 0:
                return
            if not place.done():
                place.set_result(True)
                count -= 1


def _over(place: "asyncio.Future[bool]") -> None:
    if not place.done():
        place.set_result(False)
