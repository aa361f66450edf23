"""What the end of an attempt sets in motion, whoever brings it about: the worker, a sweep or a person."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from whilly.core import budget
from whilly.core.events import Failed
from whilly.core.evidence import Report
from whilly.core.lifecycle import settle
from whilly.core.money import Micros
from whilly.core.outcome import Outcome
from whilly.core.plan import checks_of
from whilly.core.task import Task
from whilly.core.verdict import Judged, judge, repairs_allowed
from whilly.operations.release_dependants import release_dependants
from whilly.operations.tell_of_spending import tell_of_settlement
from whilly.store.specs import checks_from, to_json
from whilly.store.tasks import task_from
from whilly.store.transaction import Transaction
from whilly.wire.work import FinishAnswer


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt with its locked row, its report, and why it was given back if it was."""

    row: Any
    report: Report
    cause: str = ""


def fingerprint(report: Report) -> bytes:
    """Tells a repeated report from a different one."""
    return hashlib.sha256(to_json(report).encode()).digest()


async def end_attempts(tx: Transaction, endings: Sequence[Ended]) -> list[FinishAnswer]:
    """Judge the reports, move the tasks, release or block their dependants, settle the money. Rows are locked."""
    answers: list[FinishAnswer] = []
    moved: list[Task] = []
    closed: list[dict[str, Any]] = []
    bills: list[tuple[Task, Micros]] = []
    for ending in endings:
        row, report = ending.row, ending.report
        task = task_from(row)
        charge = budget.counted(report.usage.cost, task.reserved, started=row["started_at"] is not None)
        checks = checks_of(checks_from(row["plan_checks"]), checks_from(row["task_checks"] or "[]"))
        booked = settle(task, charge)
        judged = judge(booked, report, checks, row["now"], budget=row["budget_micros"], cause=ending.cause)
        after = tx.record(booked, judged.verdict, _detail(report))
        _tell_of_repair(tx, task, after, judged, repairs_allowed(report, checks))
        answer = FinishAnswer(after.status, after.reason)
        answers.append(answer)
        moved.append(after)
        closed.append(_closing(task, report, judged, charge, answer))
        bills.append((task, charge))
    # Asked only now: a budget may have been set while the rows were waited for, and it counts what they reserve.
    budgeted = {row["plan_id"] for row in await tx.fetch("close_attempts", to_json(closed)) if row["budgeted"]}
    if held := [ending.row for ending in endings if ending.row["key_files"]]:
        await tx.execute("release_files", [row["plan_id"] for row in held], [row["id"] for row in held])
    await release_dependants(tx, moved)
    await tx.flush()
    await _settle(tx, bills, budgeted)
    return answers


def _detail(report: Report) -> dict[str, Any] | None:
    failed = [
        {
            "name": check.name,
            "command": check.command,
            "note": check.note,
            "output": check.output_tail or check.output_head,
        }
        for check in report.checks
        if not check.passed
    ]
    detail = {"failed_checks": failed, "kept_ref": report.kept_ref}
    return {name: value for name, value in detail.items() if value} or None


def _tell_of_repair(tx: Transaction, before: Task, after: Task, judged: Judged, allowed: int) -> None:
    if judged.outcome is not Outcome.CHECKS_FAILED:
        return
    shared = {"plan_id": after.plan, "task_id": after.id, "max_attempts": allowed, "reason": judged.reason}
    if after.repairs > before.repairs:
        tx.tell(after.plan, after.id, "repair.attempt.requested", {**shared, "attempt": after.repairs})
    elif isinstance(judged.verdict, Failed):
        tx.tell(after.plan, after.id, "repair.escalated", {**shared, "attempts": before.repairs})


def _closing(task: Task, report: Report, judged: Judged, charge: Micros, answer: FinishAnswer) -> dict[str, Any]:
    usage = asdict(report.usage)
    return {
        "plan_id": task.plan,
        "task_id": task.id,
        "epoch": task.epoch,
        "outcome": judged.outcome,
        "reason": judged.reason,
        "summary": report.summary,
        "agent": report.agent,
        "agent_version": report.agent_version,
        "model": report.model,
        "session": report.session,
        "base_commit": report.base_commit,
        "head_commit": report.head_commit,
        "branch": report.branch,
        "kept_ref": report.kept_ref,
        "files_changed": report.files_changed,
        "exit_code": report.exit_code,
        "cost_micros": usage.pop("cost"),
        "counted_micros": charge,
        **usage,
        "checks": report.checks,
        "report_hash": fingerprint(report).hex(),
        "verdict": answer.status,
        "verdict_reason": answer.reason,
    }


async def _settle(tx: Transaction, bills: list[tuple[Task, Micros]], budgeted: set[str]) -> None:
    """Book the charges; a plan without a budget is touched only when something was spent."""
    costs: dict[str, Micros] = {}
    freed: dict[str, Micros] = {}
    last: dict[str, str] = {}
    for task, charge in bills:
        if charge or task.plan in budgeted:
            costs[task.plan] = costs.get(task.plan, 0) + charge
            freed[task.plan] = freed.get(task.plan, 0) + task.reserved
            last[task.plan] = task.id
    if not costs:
        return
    plans = sorted(costs)
    rows = await tx.fetch("settle_budgets", plans, [costs[plan] for plan in plans], [freed[plan] for plan in plans])
    for row in rows:
        await tell_of_settlement(tx, row, last[row["id"]])


async def settle_late(tx: Transaction, row: Any, report: Report) -> None:
    """Book what an attempt cost that had been given up before its report came: the money was spent all the same."""
    usage = report.usage
    if usage.cost is None:
        return
    found = await tx.fetch(
        "late_usage",
        row["plan_id"],
        row["id"],
        row["asked_epoch"],
        usage.cost,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    for late in found:
        await tx.execute("add_task_spending", row["plan_id"], row["id"], late["difference"])
        await _settle(tx, [(replace(task_from(row), reserved=0), late["difference"])], {row["plan_id"]})
