"""Keep what workers tell about their attempts while they run."""

from collections.abc import Sequence
from functools import partial

from whilly.core.assignment import AttemptKey
from whilly.core.errors import LeaseLost, Refused, UnknownTask
from whilly.store.database import Database
from whilly.store.transaction import Transaction
from whilly.wire.work import AttemptEvent, TranscriptChunk

WORKER_MAY_TELL = ("llm.", "pipeline.stage.", "verification.", "workspace.", "ci.", "agent.")
"""Prefixes of the event types that a worker may write; all others are the control plane's own."""


async def append_events(database: Database, key: AttemptKey, events: Sequence[AttemptEvent]) -> None:
    """Add events of a running attempt to the log; a numbered one that is there already is passed over.

    Raises LeaseLost, UnknownTask, or Refused for a type that is not the worker's to use.
    """
    for event in events:
        if not event.type.startswith(WORKER_MAY_TELL):
            raise Refused(f"A worker may not write events of type {event.type!r}.")
    await database.transact(partial(_append, key=key, events=events))


async def _append(tx: Transaction, key: AttemptKey, events: Sequence[AttemptEvent]) -> None:
    told = await _told_so_far(tx, key, max((event.number for event in events), default=0))
    for event in events:
        if 0 < event.number <= told:
            continue
        payload = {**event.payload, "plan_id": key.plan, "task_id": key.task, "epoch": key.epoch}
        tx.tell(key.plan, key.task, event.type, payload, event.detail)


async def append_transcript(database: Database, key: AttemptKey, chunks: Sequence[TranscriptChunk]) -> None:
    """Keep pieces of what the agent printed; a piece sent twice is kept once.

    Taken from an attempt that is over as well: late words of a lost worker explain what happened.
    """
    async with database.transaction() as tx:
        await tx.execute(
            "append_transcript",
            key.plan,
            key.task,
            key.epoch,
            [chunk.number for chunk in chunks],
            [chunk.text.replace("\0", "\\u0000") for chunk in chunks],
        )


async def _told_so_far(tx: Transaction, key: AttemptKey, highest: int) -> int:
    rows = await tx.fetch("count_events_told", key.plan, key.task, key.epoch, highest)
    if rows:
        return int(rows[0]["before"])
    current = await tx.fetch("epoch_of_task", key.plan, key.task)
    if not current:
        raise UnknownTask(key.plan, key.task)
    raise LeaseLost(key.task, key.epoch, current[0]["epoch"])
