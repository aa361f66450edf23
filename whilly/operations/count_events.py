"""Count what the log tells, each event once, whoever counts and however often it is asked."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from whilly.core.outcome import Outcome
from whilly.store.database import Database
from whilly.store.specs import to_json
from whilly.store.transaction import Transaction

PAGE = 20_000
"""Events counted in one transaction: about a tenth of a second."""

CLAIMS, COMPLETES, FAILS = "whilly_claims_total", "whilly_completes_total", "whilly_fails_total"
RELEASES, LEASES_LOST = "whilly_releases_total", "whilly_leases_lost_total"
CHECKS_FAILED = "whilly_verification_failures_total"

Tally = tuple[str, tuple[str, ...]]
"""The name of what is counted, and the values of its labels."""

_REASONS = frozenset(outcome.value for outcome in Outcome)


async def count_events(database: Database) -> int:
    """Add the next PAGE events of the log to the tallies; how many there were. 0 also while another process counts.

    What is counted and how far are stored together, so nothing is counted twice or left out, whatever is killed.
    """
    return await database.transact(_count)


async def _count(tx: Transaction) -> int:
    groups = await tx.fetch("take_uncounted_events", PAGE)
    counted: Counter[Tally] = Counter()
    for group in groups:
        for tally in _tallies_of(group):
            counted[tally] += group["count"]
    await _add(tx, counted)
    return int(groups[0]["passed"]) if groups else 0


def _tallies_of(group: Any) -> list[Tally]:
    plan, worker = group["plan_id"], group["worker_id"] or ""
    # Why a task was given back is its worker's word; what is not one of ours must not become a label.
    reason = group["reason"] if group["reason"] in _REASONS else Outcome.RELEASED.value
    found: list[Tally] = []
    match group["type"]:
        case "CLAIM":
            found.append((CLAIMS, (plan, worker)))
        case "COMPLETE":
            found.append((COMPLETES, (plan, worker)))
        case "FAIL":
            found.append((FAILS, (plan, worker, reason)))
        case "RELEASE":
            found.append((RELEASES, (plan, reason)))
        case "verification.failed" | "verification.warning":
            found.append((CHECKS_FAILED, (plan, "true" if group["required"] == "true" else "false")))
    if group["reason"] == Outcome.LOST_WORKER and group["type"] in ("FAIL", "RELEASE", "task.blocked"):
        found.append((LEASES_LOST, (plan,)))
    return found


async def add_to_tallies(database: Database, counted: Mapping[Tally, float]) -> None:
    """Add what a process counted by itself."""
    await database.transact(partial(_add, counted=counted))


async def _add(tx: Transaction, counted: Mapping[Tally, float]) -> None:
    if counted:
        rows = [{"name": name, "labels": labels, "value": value} for (name, labels), value in counted.items()]
        await tx.execute("add_to_tallies", to_json(rows))
