"""Hand ready tasks to workers."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from whilly.core import budget
from whilly.core.assignment import Assignment, EarlierAttempt, Prerequisite
from whilly.core.capabilities import rung
from whilly.core.errors import Superseded, WhillyError
from whilly.core.events import Claimed
from whilly.core.evidence import CheckResult
from whilly.core.key_files import overlap
from whilly.core.money import Micros
from whilly.core.plan import RepoTarget, checks_of
from whilly.store.database import Database
from whilly.store.purses import purse_from
from whilly.store.specs import checks_from, from_json, spec_from
from whilly.store.tasks import task_from
from whilly.store.transaction import LostRace, Transaction
from whilly.wire.work import ClaimRequest

Ask = tuple[str, ClaimRequest]
"""Who asks, and for what."""

Kind = tuple[str, tuple[str, ...], tuple[str, ...], str]
"""A plan, and what those who ask for its tasks can do: agents, tags, isolation."""


class Drained(WhillyError):
    """The worker shall take no tasks."""

    def __init__(self, worker: str) -> None:
        super().__init__(f"Worker {worker} takes no more tasks until `whilly worker resume {worker}`.")


async def claim_tasks(database: Database, asks: Sequence[Ask], lease: timedelta) -> list[Assignment | None]:
    """Hand each request the best task that may start now, or None; requests for the same plan share the work.

    A claim id that is held already gets the same assignment again. Raises Superseded and Drained, for all, when one of
    the workers must not have any.
    """
    answers: dict[str, Assignment] = {}
    for kind, alike in _by_kind(asks).items():
        claimed = await database.transact(partial(_claim, kind=kind, asks=alike, lease=lease))
        answers.update(claimed)
    return [answers.get(request.claim_id) for _, request in asks]


def _by_kind(asks: Sequence[Ask]) -> dict[Kind, list[Ask]]:
    kinds: dict[Kind, list[Ask]] = {}
    for worker, request in asks:
        kind = (request.plan, request.agents, request.tags, request.isolation)
        kinds.setdefault(kind, []).append((worker, request))
    return kinds


async def _claim(tx: Transaction, kind: Kind, asks: list[Ask], lease: timedelta) -> dict[str, Assignment]:
    plan, agents, tags, isolation = kind
    granted: dict[str, Any] = {}
    waiting = {request.claim_id: (worker, request.session) for worker, request in asks}
    while waiting:
        rows = await tx.fetch(
            "next_ready_tasks", plan, len(waiting), list(agents), list(waiting), list(tags), rung(isolation)
        )
        for row in [row for row in rows if row["claim_id"] is not None]:
            if waiting.pop(row["claim_id"], ("", 0))[0] == row["worker_id"]:
                granted[row["claim_id"]] = row
        ready = await _with_free_files(tx, [row for row in rows if row["claim_id"] is None])
        if not ready or not await _grant(tx, ready, waiting, granted, lease):
            break
        if not any(row["key_files"] for row in rows):
            break
    return await _assignments(tx, granted, lease)


async def _with_free_files(tx: Transaction, rows: list[Any]) -> list[Any]:
    """The rows whose key files nobody else works on, having taken those files."""
    wanted: dict[tuple[str, str], Any] = {}
    taken_in: dict[str, set[str]] = {}
    chosen = []
    for row in rows:
        taken = taken_in.setdefault(row["files_in"], set())
        if not overlap(row["key_files"], taken):
            taken.update(row["key_files"])
            wanted.update(dict.fromkeys(((row["files_in"], path) for path in row["key_files"]), row))
            chosen.append(row)
    if not wanted:
        return chosen
    await tx.fetch("lock_files_of_repositories", [repository for repository, _ in wanted])
    held = await tx.fetch(
        "hold_files",
        [repository for repository, _ in wanted],
        [path for _, path in wanted],
        [row["plan_id"] for row in wanted.values()],
        [row["id"] for row in wanted.values()],
    )
    counts: dict[str, int] = {}
    for file in held:
        counts[file["task_id"]] = counts.get(file["task_id"], 0) + 1
    lost = [row for row in chosen if row["key_files"] and counts.get(row["id"], 0) < len(set(row["key_files"]))]
    if lost:
        await _free_files(tx, lost)
    return [row for row in chosen if row not in lost]


async def _free_files(tx: Transaction, rows: list[Any]) -> None:
    await tx.execute("release_files", [row["plan_id"] for row in rows], [row["id"] for row in rows])


async def _grant(
    tx: Transaction,
    ready: list[Any],
    waiting: dict[str, tuple[str, int]],
    granted: dict[str, Any],
    lease: timedelta,
) -> bool:
    """Claim the rows for those who wait, as far as the plan's budget goes; whether anything was claimed."""
    plan = ready[0]["plan_id"]
    left = await _money_left(tx, ready[0])
    reserved_in_plan: Micros = 0
    opened = []
    unpaid = []
    for row in ready:
        wanted = budget.reservation(left, row["budget_micros"], row["spent_micros"])
        if wanted is None or not waiting:
            unpaid.append(row)
            continue
        claim_id = next(iter(waiting))
        worker, session = waiting.pop(claim_id)
        task = tx.record(task_from(row), Claimed(worker, claim_id, row["now"], lease, wanted))
        granted[claim_id] = {**row, "epoch": task.epoch, "reserved_micros": wanted}
        opened.append((task, worker, row["now"], session))
        if left is not None:
            left -= wanted
            reserved_in_plan += wanted
    if unpaid:
        await _free_files(tx, unpaid)
    if not opened:
        return False
    await tx.flush()
    begun = await tx.fetch(
        "open_attempts",
        [task.plan for task, *_ in opened],
        [task.id for task, *_ in opened],
        [task.epoch for task, *_ in opened],
        [worker for _, worker, _, _ in opened],
        [at for _, _, at, _ in opened],
        [session for *_, session in opened],
    )
    if len(begun) < len(opened):
        await _refuse_fenced(tx, {worker: session for _, worker, _, session in opened})
    if left is None and begun[0]["budgeted"] and not ready[0]["plan_budgeted"]:
        raise LostRace(f"plan {plan} got a budget while its tasks were looked at")
    if reserved_in_plan:
        await tx.execute("reserve_budget", plan, reserved_in_plan)
    return True


async def _refuse_fenced(tx: Transaction, sessions: dict[str, int]) -> None:
    for row in await tx.fetch("fenced_workers", list(sessions)):
        if 0 < sessions[row["id"]] < row["session"]:
            raise Superseded(row["id"])
        if row["draining"]:
            raise Drained(row["id"])
    raise LostRace("a worker was fenced off while it claimed, and is no more")


async def _money_left(tx: Transaction, row: Any) -> Micros | None:
    if not row["plan_budgeted"]:
        return None
    return purse_from((await tx.fetch("lock_plan_budget", row["plan_id"]))[0]).left


async def _assignments(tx: Transaction, granted: dict[str, Any], lease: timedelta) -> dict[str, Assignment]:
    prerequisites = await _prerequisites(tx, [row for row in granted.values() if row["needs"]])
    earlier = await _earlier(tx, [row for row in granted.values() if row["reason"]])
    return {
        claim_id: _assignment(row, claim_id, lease, prerequisites.get(row["id"], ()), earlier.get(row["id"]))
        for claim_id, row in granted.items()
    }


def _assignment(
    row: Any, claim_id: str, lease: timedelta, prerequisites: tuple[Prerequisite, ...], earlier: EarlierAttempt | None
) -> Assignment:
    spec = spec_from(row["spec"])
    return Assignment(
        plan=row["plan_id"],
        project=row["project"],
        spec=spec,
        epoch=row["epoch"],
        claim_id=claim_id,
        lease_seconds=lease.total_seconds(),
        checks=checks_of(checks_from(row["plan_checks"]), spec.checks),
        agent=row["agent"],
        timeout_minutes=spec.timeout_minutes or row["plan_timeout_minutes"],
        limit=budget.limit(row["plan_budgeted"], row["budget_micros"], row["reserved_micros"]),
        prerequisites=prerequisites,
        earlier=earlier,
        repository=row["plan_repository"],
        repo_target=_repo_target(row),
    )


def _repo_target(row: Any) -> RepoTarget | None:
    if not row["repository"]:
        return None
    targets = from_json(tuple[RepoTarget, ...], row["repo_targets"])
    return next((target for target in targets if target.id == row["repository"]), None)


async def _prerequisites(tx: Transaction, rows: list[Any]) -> dict[str, tuple[Prerequisite, ...]]:
    found: dict[str, tuple[Prerequisite, ...]] = {}
    if rows:
        for result in await tx.fetch("prerequisite_results", rows[0]["plan_id"], [row["id"] for row in rows]):
            one = Prerequisite(result["id"], result["result_commit"], result["result_branch"], result["repository"])
            found[result["task_id"]] = (*found.get(result["task_id"], ()), one)
    return found


async def _earlier(tx: Transaction, rows: list[Any]) -> dict[str, EarlierAttempt]:
    if not rows:
        return {}
    last = await tx.fetch("last_attempts", rows[0]["plan_id"], [row["id"] for row in rows])
    return {row["task_id"]: earlier_from(row) for row in last}


def earlier_from(row: Any) -> EarlierAttempt:
    """What the next attempt has to know about an ended one."""
    checks = from_json(tuple[CheckResult, ...], row["checks"])
    return EarlierAttempt(
        epoch=row["epoch"],
        outcome=row["outcome"],
        reason=row["reason"],
        head_commit=row["head_commit"],
        kept_ref=row["kept_ref"],
        failing_output="\n\n".join(_shown(check) for check in checks if not check.passed),
        comment=row["comment"],
    )


def _shown(check: CheckResult) -> str:
    cut = "\n[…]\n" if check.output_tail else ""
    return f"$ {check.command}\n{check.output_head}{cut}{check.output_tail}".rstrip()
