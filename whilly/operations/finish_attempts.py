"""Take reports of ended attempts, once each."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from whilly.core.assignment import AttemptKey
from whilly.core.errors import ConflictingReport, LeaseLost, UnknownTask, WhillyError
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status
from whilly.core.plausible import plausible, plausible_usage
from whilly.operations.end_attempts import Ended, end_attempts, fingerprint, settle_late
from whilly.store.database import Database
from whilly.store.transaction import Transaction
from whilly.wire.work import FinishAnswer, Release

Finish = tuple[AttemptKey, Report, str]
"""Which attempt, how it ended, and the cause of a release."""


async def finish_attempts(
    database: Database, reports: Sequence[tuple[AttemptKey, Report]]
) -> list[FinishAnswer | WhillyError]:
    """Judge each attempt by its evidence and move its plan on.

    A repeated report gets the stored answer. LeaseLost when the epoch is over, ConflictingReport when another report
    was taken for it, UnknownTask; these are given in place of the answer, so that one of them spoils no other.
    """
    return await _finish(database, [(key, plausible(report), "") for key, report in reports])


async def release_attempt(database: Database, key: AttemptKey, release: Release) -> FinishAnswer:
    """Give a task back without a result: another worker takes it, and no attempt is used up. Raises as above."""
    outcome = Outcome.AGENT_MISSING if release.cause == Outcome.AGENT_MISSING else Outcome.RELEASED
    report = Report(
        outcome,
        reason=release.reason or f"Given back by its worker: {release.cause}.",
        usage=plausible_usage(release.usage),
        kept_ref=release.kept_ref,
    )
    (answer,) = await _finish(database, [(key, report, release.cause)])
    if isinstance(answer, WhillyError):
        raise answer
    return answer


async def _finish(database: Database, finishes: Sequence[Finish]) -> list[FinishAnswer | WhillyError]:
    latest = {key: (key, report, cause) for key, report, cause in finishes}
    answers = await database.transact(partial(_finish_all, finishes=list(latest.values())))
    return [
        answers[key]
        if latest[key][1] == report
        else ConflictingReport(f"Attempt {key.epoch} of task {key.task} was reported twice, differently.")
        for key, report, _ in finishes
    ]


async def _finish_all(tx: Transaction, finishes: list[Finish]) -> dict[AttemptKey, FinishAnswer | WhillyError]:
    keys = [[key.plan, key.task, key.epoch] for key, _, _ in finishes]
    columns = [list(column) for column in zip(*keys, strict=True)]
    rows = await tx.fetch("lock_attempts", *columns)
    if any(row["claim_id"] is None or row["epoch"] != row["asked_epoch"] or row["started_at"] is None for row in rows):
        # If the lock was waited for, the task is as it is now, but its attempt as it was before: the same report may
        # have been taken meanwhile, through another server. With the lock in hand both are read as they are.
        rows = await tx.fetch("lock_attempts", *columns)
    found = {AttemptKey(row["plan_id"], row["id"], row["asked_epoch"]): row for row in rows}
    answers: dict[AttemptKey, FinishAnswer | WhillyError] = {}
    due: dict[AttemptKey, Ended] = {}
    for key, report, cause in finishes:
        row = found.get(key)
        if row is None:
            answers[key] = UnknownTask(key.plan, key.task)
        elif row["claim_id"] is not None and row["epoch"] == key.epoch:
            due[key] = Ended(row, report, cause)
        else:
            answers[key] = _already(row, report)
    if due:
        answers.update(zip(due, await end_attempts(tx, list(due.values())), strict=True))
    # Afterwards, for the end of an attempt writes the task as it was read, and both may be about the same task.
    for key, report, _ in finishes:
        if isinstance(answers[key], LeaseLost):
            await settle_late(tx, found[key], report)
    return answers


def _already(row: Any, report: Report) -> FinishAnswer | WhillyError:
    """The answer to a report about an attempt that is over."""
    if row["ended_at"] is None or row["outcome"] == Outcome.LOST_WORKER:
        return LeaseLost(row["id"], row["asked_epoch"], row["epoch"])
    if row["report_hash"] == fingerprint(report):
        return FinishAnswer(Status(row["verdict"]), row["verdict_reason"])
    return ConflictingReport(
        f"Attempt {row['asked_epoch']} of task {row['id']} ended already, as {row['outcome']}; the first report counts."
    )
