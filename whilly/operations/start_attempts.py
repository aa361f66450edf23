"""Note that agents are about to run."""

from collections.abc import Sequence
from functools import partial

from whilly.core.assignment import AttemptKey
from whilly.core.errors import LeaseLost, UnknownTask, WhillyError
from whilly.core.events import Started
from whilly.core.plan import Status
from whilly.store.database import Database
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction
from whilly.wire.work import Start

Beginning = tuple[AttemptKey, Start]


async def start_attempts(database: Database, starts: Sequence[Beginning]) -> list[WhillyError | None]:
    """Move claimed tasks to IN_PROGRESS; a repeated start changes nothing. LeaseLost and UnknownTask are given back."""
    answers = await database.transact(partial(_start, starts=dict(starts)))
    return [answers[key] for key, _ in starts]


async def _start(tx: Transaction, starts: dict[AttemptKey, Start]) -> dict[AttemptKey, WhillyError | None]:
    rows = await tx.fetch("lock_tasks", [key.plan for key in starts], [key.task for key in starts])
    tasks = {(row["plan_id"], row["id"]): task_from(row) for row in rows}
    answers: dict[AttemptKey, WhillyError | None] = {}
    begun: list[Beginning] = []
    for key, start in starts.items():
        task = tasks.get((key.plan, key.task))
        if task is None:
            answers[key] = UnknownTask(key.plan, key.task)
        elif task.claim is None or task.epoch != key.epoch:
            answers[key] = LeaseLost(key.task, key.epoch, task.epoch)
        else:
            answers[key] = None
            if task.status is Status.CLAIMED:
                tx.record(task, Started(start.agent, start.base_commit))
                begun.append((key, start))
    if begun:
        await tx.flush()
        await tx.execute(
            "start_attempts",
            [key.plan for key, _ in begun],
            [key.task for key, _ in begun],
            [key.epoch for key, _ in begun],
            [start.agent for _, start in begun],
            [start.agent_version for _, start in begun],
            [start.model for _, start in begun],
            [start.base_commit for _, start in begun],
        )
    return answers
