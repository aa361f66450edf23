"""Keep the leases of workers that give a sign of life."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from whilly.core import budget
from whilly.core.assignment import AttemptKey
from whilly.core.errors import LeaseLost, WhillyError
from whilly.core.money import Micros
from whilly.core.plausible import plausible_usage
from whilly.store.database import Database
from whilly.store.purses import purse_from
from whilly.store.transaction import Transaction
from whilly.wire.work import Heartbeat, HeartbeatAnswer

Beat = tuple[AttemptKey, Heartbeat]


async def renew_leases(
    database: Database, beats: Sequence[Beat], lease: timedelta
) -> list[HeartbeatAnswer | WhillyError]:
    """Extend the leases, raise reservations that run short, say what each attempt may do. LeaseLost is given back."""
    return await database.transact(partial(_renew, beats=beats, lease=lease))


async def _renew(tx: Transaction, beats: Sequence[Beat], lease: timedelta) -> list[HeartbeatAnswer | WhillyError]:
    latest = dict(beats)
    used = {key: plausible_usage(beat.usage).cost for key, beat in latest.items()}
    rows = await tx.fetch(
        "renew_leases",
        [key.plan for key in latest],
        [key.task for key in latest],
        [key.epoch for key in latest],
        lease.total_seconds(),
        [beat.phase for beat in latest.values()],
        [beat.last_line for beat in latest.values()],
        list(used.values()),
    )
    answers: dict[AttemptKey, HeartbeatAnswer] = {}
    for row in rows:
        key = AttemptKey(row["plan_id"], row["id"], row["epoch"])
        reserved = await _topped_up(tx, row, used[key] or 0)
        purse = purse_from(row)
        overdrawn = purse.overdrawn + reserved - row["reserved_micros"]
        limit = budget.limit(purse.limited, row["budget_micros"], reserved, overdrawn=overdrawn)
        answers[key] = HeartbeatAnswer(lease.total_seconds(), row["cancel_requested"], limit, row["paused"])
    return [answers.get(key) or LeaseLost(key.task, key.epoch, key.epoch + 1) for key, _ in beats]


async def _topped_up(tx: Transaction, row: Any, used: Micros) -> Micros:
    """What the attempt has reserved now, after a raise where one is due."""
    reserved: Micros = row["reserved_micros"]
    if not purse_from(row).limited or used * 2 <= reserved:
        return reserved
    left = purse_from((await tx.fetch("lock_plan_budget", row["plan_id"]))[0]).left
    task_left = None if row["budget_micros"] is None else row["budget_micros"] - row["spent_micros"]
    more = budget.top_up(reserved, used, left or 0, task_left)
    if more:
        await tx.execute("raise_reservation", row["plan_id"], row["id"], more)
        await tx.execute("reserve_budget", row["plan_id"], more)
    return reserved + more
