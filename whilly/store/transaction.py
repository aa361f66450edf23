"""One unit of work. The only way to change a task is to say what happened to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from whilly.core.events import Payload, TaskEvent
from whilly.core.lifecycle import advance, is_told
from whilly.core.task import Task
from whilly.store.statements import statement

EVERY_PLAN = "*"
"""The plan of an event that concerns no plan in particular: `events.plan_id` is never null, and no plan has this id."""

TaskKey = tuple[str, str]


class LostRace(Exception):
    """What was read is no longer true; `Database.transact` rolls back and begins anew."""


@dataclass(frozen=True, slots=True)
class _Told:
    plan: str
    task: str | None
    type: str
    payload: str
    detail: str | None


class Transaction:
    """Collects what happened, and writes rows first, log last: all transactions take their locks in that order."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._moved: dict[TaskKey, Task] = {}
        self._told: list[_Told] = []

    async def fetch(self, name: str, *arguments: object) -> list[Any]:
        """The rows that one statement of `store/sql` gives, inside this transaction."""
        return list(await self._connection.fetch(statement(name), *arguments))

    async def execute(self, name: str, *arguments: object) -> None:
        """Run one statement of `store/sql` that gives no rows."""
        await self._connection.execute(statement(name), *arguments)

    async def copy(self, table: str, columns: list[str], rows: Iterable[tuple[object, ...]]) -> None:
        """Bulk insert by COPY."""
        await self._connection.copy_records_to_table(table, columns=columns, records=rows)

    def record(self, task: Task, event: TaskEvent, detail: Payload | None = None) -> Task:
        """Say what happened to a task that this transaction has locked; returns it as it is now.

        Raises IllegalTransition. Row and event are written by `flush`, so record nothing about a task that you hold
        only an older copy of: pass on what `record` returned.
        """
        moved = advance(task, event)
        self._moved[task.plan, task.id] = moved
        if is_told(moved, event):
            payload = {"plan_id": task.plan, "task_id": task.id, "version": moved.version, **event.payload()}
            self.tell(task.plan, task.id, event.type, payload, detail)
        return moved

    def tell(self, plan: str, task: str | None, kind: str, payload: Payload, detail: Payload | None = None) -> None:
        """Store an event that moves no task."""
        stored_detail = None if detail is None else msgspec.json.encode(detail).decode()
        self._told.append(_Told(plan, task, kind, msgspec.json.encode(payload).decode(), stored_detail))

    async def flush(self) -> None:
        """Write everything recorded so far, in one statement. Called at the end of every transaction."""
        if not self._moved and not self._told:
            return
        moved, told = list(self._moved.values()), self._told
        self._moved, self._told = {}, []
        await self._connection.execute(
            statement("record"),
            [task.plan for task in moved],
            [task.id for task in moved],
            [task.status.value for task in moved],
            [task.unmet for task in moved],
            [task.epoch for task in moved],
            [task.attempts for task in moved],
            [task.repairs for task in moved],
            [task.version for task in moved],
            [task.approved for task in moved],
            [task.claim and task.claim.worker for task in moved],
            [task.claim and task.claim.claim_id for task in moved],
            [task.claim and task.claim.since for task in moved],
            [task.claim and task.claim.lease_until for task in moved],
            [task.parked_until for task in moved],
            [task.cancel_requested for task in moved],
            [task.reserved for task in moved],
            [task.spent for task in moved],
            [task.reason for task in moved],
            [task.blocked_by for task in moved],
            [task.result_commit for task in moved],
            [task.result_branch for task in moved],
            [event.plan for event in told],
            [event.task for event in told],
            [event.type for event in told],
            [event.payload for event in told],
            [event.detail for event in told],
        )
