"""The log as it grows, for everybody who watches: read once, encoded once, and nobody misses or repeats an event.

A watcher reads what it missed in pages and joins the others at the exact position where its reading ended; from there
on it gets what all get. Whoever reads too slowly is told so and sent away, and comes back with its last position.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable

from whilly.operations.read_events import end_of_log, events_after
from whilly.server.frames import STILL_HERE, Frame, frame_of, note
from whilly.server.loops.repeat import Alarm, repeat
from whilly.store.database import AWAY, Database

PAGE = 500
REPLAY_CAP = 1_000
"""Events sent to somebody who comes back; who missed more reads a fresh snapshot instead."""

LARGEST_QUEUE = 1_000
LARGEST_PIECE = 256_000
"""Bytes that are given to a connection at once: what waits in front of a slow reader exists once for all of them."""

HEARTBEAT = 15.0
LOOK_EVERY = 1.0
"""Seconds until the log is read without a hint: the most that a lost hint delays an event."""

COALESCE = 0.25
"""Seconds between two nudges to a page."""


class _Watcher:
    """Somebody who watches one plan or all."""

    def __init__(self, plan: str | None) -> None:
        self.plan = plan
        self.rung = asyncio.Event()
        self._quiet = False
        self._waits_since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        """There is something for it."""
        self._quiet = False
        self.rung.set()

    async def wait(self) -> bool:
        """Until it rings (True), or nothing happened for HEARTBEAT seconds (False).

        One timer for many waits: fifty watchers that set one for each event would spend more on timers than on events.
        """
        loop = asyncio.get_running_loop()
        self._waits_since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(HEARTBEAT, self._look_at_clock)
        await self.rung.wait()
        if self._quiet:
            self._quiet = False
            self.rung.clear()
            return False
        return True

    def leave(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_at_clock(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._waits_since + HEARTBEAT - loop.time()
        if left <= 0 and not self.rung.is_set():
            self._quiet = True
            self.rung.set()
        self._timer = loop.call_later(left if left > 0 else HEARTBEAT, self._look_at_clock)

    def concerned(self, plan: str) -> bool:
        return self.plan is None or self.plan == plan

    def offer(self, frames: Iterable[Frame]) -> None:
        """New events, in order."""
        if any(self.concerned(frame.plan) for frame in frames):
            self.ring()


class _Subscriber(_Watcher):
    """Wants every event after `position`."""

    def __init__(self, plan: str | None, position: int) -> None:
        super().__init__(plan)
        self.position = position
        self.dropped = False
        self._queue: deque[bytes] = deque()

    def offer(self, frames: Iterable[Frame]) -> None:
        wanted = [frame.content for frame in frames if frame.position > self.position and self.concerned(frame.plan)]
        if not wanted or self.dropped:
            return
        if len(self._queue) + len(wanted) > LARGEST_QUEUE:
            self.dropped = True
        else:
            self._queue.extend(wanted)
        self.ring()

    def take(self) -> bytes:
        """What waits, as one piece of about LARGEST_PIECE; it keeps ringing while there is more."""
        piece = _piece(self._queue)
        if not self._queue:
            self.rung.clear()
        return piece


class LiveEvents:
    """Follows the log while somebody watches it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watchers: dict[_Watcher, None] = {}
        self._position = 0
        self._alarm = Alarm()
        self._closed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watchers)

    async def run(self) -> None:
        """Follow for ever."""
        await repeat("following the log", self._round, self._alarm.pause)

    def look(self) -> None:
        """There may be new events."""
        if self._watchers:
            self._alarm.ring()

    def touch(self, plan: str) -> None:
        """Something to see changed in a plan that is no event, such as the phase of an attempt."""
        for watcher in self._watchers:
            if not isinstance(watcher, _Subscriber) and watcher.concerned(plan):
                watcher.ring()

    def close(self) -> None:
        """End all streams."""
        self._closed.set()
        for watcher in self._watchers:
            watcher.ring()

    async def stream(self, plan: str | None, last_seen: str | None) -> AsyncGenerator[bytes]:
        """Frames after the position `last_seen` (a client's Last-Event-ID), or from now on when it has none."""
        subscriber = _Subscriber(plan, 0)
        try:
            try:
                if not await self._place(subscriber, last_seen):
                    position = subscriber.position
                    yield note("reset", {"reason": "unknown_position", "position": position}, position)
                async for piece in self._replay(subscriber):
                    yield piece
            except AWAY:
                yield note("error", {"reason": "db_error_during_replay", "close_code": 1011})
                return
            async for piece in self._follow(subscriber):
                yield piece
        finally:
            self._watchers.pop(subscriber, None)
            subscriber.leave()

    async def _place(self, subscriber: _Subscriber, last_seen: str | None) -> bool:
        """Put it where its client left off; False when there is no such place: it is at the end then."""
        newest = subscriber.position = await end_of_log(self._database)
        if last_seen is None:
            return True
        asked = int(last_seen) if last_seen.isascii() and last_seen.isdigit() and len(last_seen) < 19 else -1
        if not 0 <= asked <= newest:
            return False
        subscriber.position = asked
        return True

    async def nudges(self, plan: str | None) -> AsyncGenerator[bytes]:
        """A `changed` frame whenever there is something new to see: at once, then a few times a second at most."""
        watcher = _Watcher(plan)
        await self._join(watcher)
        try:
            while not self._closed.is_set():
                watcher.rung.clear()
                yield note("changed", {"position": self._position})
                await asyncio.sleep(COALESCE)
                while not await watcher.wait():
                    yield STILL_HERE
        finally:
            self._watchers.pop(watcher, None)
            watcher.leave()

    async def _replay(self, subscriber: _Subscriber) -> AsyncGenerator[bytes]:
        """Send what was missed, page by page, and join the others where it ends."""
        yield STILL_HERE
        sent = 0
        while True:
            known = self._position if self._watchers else await end_of_log(self._database)
            page = await events_after(self._database, subscriber.position, subscriber.plan, PAGE)
            if fits := page[: REPLAY_CAP - sent]:
                sent += len(fits)
                subscriber.position = fits[-1].position
                waiting = deque(frame_of(event).content for event in fits)
                while waiting:
                    yield _piece(waiting)
            if len(fits) < len(page):
                sent, missed_after = 0, subscriber.position
                subscriber.position = await end_of_log(self._database)
                told = {"reason": "too_much_missed", "missed_after_id": missed_after, "cap": REPLAY_CAP}
                yield note("replay_truncated", {**told, "position": subscriber.position}, subscriber.position)
            elif len(page) < PAGE:
                subscriber.position = max(subscriber.position, known)
                if self._try_to_join(subscriber):
                    return

    def _try_to_join(self, subscriber: _Subscriber) -> bool:
        """Join the watchers, unless they got events meanwhile that this one has not seen."""
        if not self._watchers:
            self._position = max(self._position, subscriber.position)
        if self._position > subscriber.position:
            return False
        self._watchers[subscriber] = None
        self._alarm.ring()
        return True

    async def _join(self, watcher: _Watcher) -> None:
        newest = await end_of_log(self._database)
        if not self._watchers:
            self._position = max(self._position, newest)
        self._watchers[watcher] = None

    async def _follow(self, subscriber: _Subscriber) -> AsyncGenerator[bytes]:
        while not self._closed.is_set():
            if not await subscriber.wait():
                yield STILL_HERE
                continue
            if subscriber.dropped:
                yield note("error", {"reason": "subscriber_dropped", "close_code": 1015})
                return
            if piece := subscriber.take():
                yield piece

    async def _round(self) -> float:
        if not self._watchers:
            return 60.0
        events = await events_after(self._database.vital, self._position, None, PAGE)
        if events:
            frames = [frame_of(event) for event in events]
            self._position = events[-1].position
            for watcher in list(self._watchers):
                watcher.offer(frames)
        return 0.0 if len(events) == PAGE else LOOK_EVERY


def _piece(waiting: deque[bytes]) -> bytes:
    """Take frames from the left, about LARGEST_PIECE of them."""
    taken, size = [], 0
    while waiting and size < LARGEST_PIECE:
        taken.append(waiting.popleft())
        size += len(taken[-1])
    return b"".join(taken)
