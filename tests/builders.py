"""Plans, reports and workers for tests, with only what matters spelled out."""

import itertools
from datetime import timedelta
from typing import Any

from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.evidence import CheckResult, Report, Usage
from whilly.core.outcome import Outcome
from whilly.core.plan import Check, Plan, Status, TaskSpec
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.finish_attempts import finish_attempts
from whilly.operations.start_attempts import start_attempts
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest, FinishAnswer, Start

LEASE = timedelta(seconds=60)
COMMIT = "c0ffee" * 6 + "c0ff"

_numbers = itertools.count(1)


def a_task(task: str = "T1", needs: tuple[str, ...] = (), **more: Any) -> TaskSpec:
    """A task that the gate would admit."""
    return TaskSpec(
        task,
        more.pop("description", f"Write the function that {task} is about, with its tests."),
        dependencies=needs,
        acceptance_criteria=("the function exists",),
        test_steps=("python -m unittest",),
        **more,
    )


def a_plan(*tasks: TaskSpec, plan: str = "p", **more: Any) -> Plan:
    """A plan of these tasks."""
    return Plan(plan, more.pop("project", f"Project {plan}"), tasks=tasks or (a_task(),), **more)


def a_request(plan: str = "p", claim_id: str | None = None, agents: tuple[str, ...] = ("scripted",)) -> ClaimRequest:
    """Asks for one task."""
    return ClaimRequest(claim_id or f"claim-{next(_numbers)}", plan, agents)


def a_report(outcome: Outcome = Outcome.COMPLETED, *, cost: int | None = 0, **more: Any) -> Report:
    """A report that proves everything, or of another outcome."""
    if outcome is Outcome.COMPLETED:
        more = {"head_commit": COMMIT, "files_changed": 1, "branch": "whilly/p/t", **more}
    return Report(outcome, usage=Usage(cost), **more)


def a_result(name: str = "unit", *, passed: bool = True, **more: Any) -> CheckResult:
    """A check that ran on the reported commit."""
    values: dict[str, Any] = {"command": f"run {name}", "required": True, "commit": COMMIT, "duration_ms": 5, **more}
    return CheckResult(name, passed=passed, exit_code=0 if passed else 1, **values)


def a_check(name: str = "unit", **more: Any) -> Check:
    """A required check."""
    return Check(name, more.pop("command", f"run {name}"), **more)


async def claimed(
    database: Database, plan: str = "p", worker: str = "w1", lease: timedelta = LEASE, claim_id: str | None = None
) -> Assignment | None:
    """What a worker gets when it asks."""
    (assignment,) = await claim_tasks(database, [(worker, a_request(plan, claim_id))], lease)
    return assignment


async def running(database: Database, plan: str = "p", worker: str = "w1", lease: timedelta = LEASE) -> Assignment:
    """A task whose agent has started."""
    assignment = await claimed(database, plan, worker, lease)
    assert assignment is not None
    assert await start_attempts(database, [(assignment.key, Start("scripted"))]) == [None]
    return assignment


async def finished(database: Database, key: AttemptKey, report: Report | None = None) -> FinishAnswer:
    """The control plane's answer to a report; raises what it answers with."""
    (answer,) = await finish_attempts(database, [(key, report or a_report())])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def done(database: Database, plan: str = "p") -> str:
    """Bring the next task to DONE; its id."""
    assignment = await running(database, plan)
    answer = await finished(database, assignment.key)
    assert answer.status is Status.DONE, answer
    return assignment.spec.id


async def statuses(database: Database, plan: str = "p") -> dict[str, str]:
    """Where each task stands."""
    async with database.connection() as connection:
        rows = await connection.fetch("select id, status from tasks where plan_id = $1 order by position", plan)
    return {row["id"]: row["status"] for row in rows}


async def row_of(database: Database, task: str, plan: str = "p") -> dict[str, Any]:
    """Everything stored about a task."""
    async with database.connection() as connection:
        return dict(await connection.fetchrow("select * from tasks where plan_id = $1 and id = $2", plan, task))


async def told(database: Database, task: str | None = None, plan: str = "p") -> list[str]:
    """The types of the events so far, of one task or of all, in order."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select type from events where plan_id = $1 and ($2::text is null or task_id = $2) order by id", plan, task
        )
    return [row["type"] for row in rows]
