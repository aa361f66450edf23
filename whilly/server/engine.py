"""What all requests share: the database, batched work, those who wait, and those who watch."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.requests import Request

from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.errors import WhillyError
from whilly.core.evidence import Report
from whilly.operations.batching import Batcher
from whilly.operations.check_token import Caller
from whilly.operations.claim_tasks import Ask, claim_tasks
from whilly.operations.finish_attempts import finish_attempts
from whilly.operations.note_workers import note_workers
from whilly.operations.renew_leases import Beat, renew_leases
from whilly.operations.start_attempts import Beginning, start_attempts
from whilly.operations.sweep_leases import sweep_leases
from whilly.server.auth import NO_BEARERS, Access, GivenBearers
from whilly.server.holdings import Holdings
from whilly.server.identity import ClaimTokens, OwnIdentity
from whilly.server.live import LiveEvents
from whilly.server.loops.listener import Listener
from whilly.server.loops.mirror import Mirror
from whilly.server.loops.sequencer import Sequencer
from whilly.server.metrics import Metrics
from whilly.server.orders import OrdersDesk
from whilly.server.ownership import Ownership
from whilly.server.rates import Allowance
from whilly.server.timings import Timings
from whilly.server.wakeups import Wakeups
from whilly.store.database import AWAY, Database
from whilly.wire.work import FinishAnswer, HeartbeatAnswer

log = logging.getLogger(__name__)

SWEEP_EVERY: Final = 5.0
LOOK_AGAIN_EVERY: Final = 1.0
NOTE_WORKERS_EVERY: Final = 15.0
HEED_HINTS_EVERY: Final = 0.02


STORED_AT_ONCE: Final = 128e6
STORED_PER_SECOND: Final = 4e6
"""Bytes that one worker may have stored before its results are there: more than agents print, and no flood."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things last, in seconds."""

    lease: float = 60
    longest_wait: float = 30
    """The longest a claim may stay open."""


class Engine:
    """One control plane process."""

    def __init__(
        self, database: Database, timing: Timing, *, bearers: GivenBearers = NO_BEARERS, mirror: Mirror | None = None
    ) -> None:
        self.database = database
        # What keeps attempts alive and results safe goes on while all other connections are in use.
        vital = database.vital
        self.timing = timing
        self.claim_tokens = ClaimTokens(vital)
        self.identity = OwnIdentity(database)
        self.access = Access(vital, self.claim_tokens, bearers)
        self.timings = Timings(database)
        self.metrics = Metrics(database, self.timings)
        self.ownership = Ownership(vital)
        self.holdings = Holdings(timing.lease)
        self.storing = Allowance(STORED_AT_ONCE, STORED_PER_SECOND)
        self.wakeups = Wakeups()
        self.orders = OrdersDesk(vital)
        self.live = LiveEvents(database)
        self.mirror = mirror
        self.sequencer = Sequencer(vital, self._look)
        self.listener = Listener(database.url, self._heard)
        self._here: set[str] = set()
        self._hint: asyncio.TimerHandle | None = None
        self._heeded = 0.0
        self.claims: Batcher[Ask, Assignment | None] = Batcher(self._claim)
        self.starts: Batcher[Beginning, None] = Batcher(self._start)
        self.beats: Batcher[Beat, HeartbeatAnswer] = Batcher(self._renew)
        self.finishes: Batcher[tuple[AttemptKey, Report], FinishAnswer] = Batcher(self._finish)

    def wrote(self) -> None:
        """Events were committed: give them their places soon."""
        self.sequencer.nudge()

    def freed(self, plan: str | None) -> None:
        """Something was committed that may let a task of the plan (None: of any) run."""
        self.sequencer.nudge()
        self.wakeups.wake(plan)

    async def sweep(self) -> float:
        """One round of the sweep; says when the next one is due."""
        if await sweep_leases(self.database.vital):
            self.freed(None)
            return 0.0
        return SWEEP_EVERY

    def is_here(self, worker: str) -> None:
        """A worker gave a sign of life. Written down now and then, for all together."""
        self._here.add(worker)

    async def note_workers(self) -> float:
        """Write down who was here since the last round."""
        here, self._here = self._here, set()
        if here:
            await note_workers(self.database.vital, here)
        return NOTE_WORKERS_EVERY

    async def look_again(self) -> float:
        """One round of the safety net for those who wait."""
        self.wakeups.look_again()
        return LOOK_AGAIN_EVERY

    def close(self) -> None:
        """Let go of everybody who waits or watches, so that the server can end."""
        self.wakeups.close()
        self.orders.close()
        self.live.close()
        if self._hint is not None:
            self._hint.cancel()

    async def end_mirror(self) -> None:
        """Bring the mirror up to date for the last time."""
        if self.mirror is None:
            return
        try:
            await self.sequencer.catch_up()
        except AWAY as failure:
            log.info("the last events were not numbered: %s", failure)
        await self.mirror.finish()

    def _heard(self) -> None:
        """Another process, or this one, numbered events; what happened may concern anybody."""
        self._look()
        self.orders.look()
        if self.wakeups and self._hint is None:
            loop = asyncio.get_running_loop()
            self._hint = loop.call_at(max(self._heeded + HEED_HINTS_EVERY, loop.time()), self._heed)

    def _look(self) -> None:
        self.live.look()
        if self.mirror is not None:
            self.mirror.look()

    def _heed(self) -> None:
        self._hint = None
        self._heeded = asyncio.get_running_loop().time()
        self.wakeups.wake()

    async def _claim(self, asks: Sequence[Ask]) -> list[Assignment | None]:
        answers = await claim_tasks(self.database, asks, timedelta(seconds=self.timing.lease))
        if any(answers):
            self.wrote()
        return answers

    async def _start(self, starts: Sequence[Beginning]) -> list[WhillyError | None]:
        answers = await start_attempts(self.database.vital, starts)
        self.wrote()
        return answers

    async def _renew(self, beats: Sequence[Beat]) -> list[HeartbeatAnswer | WhillyError]:
        answers = await renew_leases(self.database.vital, beats, timedelta(seconds=self.timing.lease))
        for plan in {key.plan for key, _ in beats}:
            self.live.touch(plan)
        return answers

    async def _finish(self, reports: Sequence[tuple[AttemptKey, Report]]) -> list[FinishAnswer | WhillyError]:
        answers = await finish_attempts(self.database.vital, reports)
        for plan in {key.plan for key, _ in reports}:
            self.freed(plan)
        return answers


def engine_of(request: Request) -> Engine:
    """The engine that serves this request."""
    engine: Engine = request.app.state.engine
    return engine


def caller_of(request: Request) -> Caller:
    """Who sends the request; known, for the route table lets nobody else in."""
    caller: Caller = request.state.caller
    return caller
