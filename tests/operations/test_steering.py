"""What people do to tasks and plans, and what follows for the others."""

import pytest

from tests.builders import a_plan, a_report, a_task, claimed, done, finished, row_of, running, statuses, told
from whilly.core.errors import LeaseLost, Refused, UnknownPlan, UnknownTask
from whilly.core.outcome import Outcome
from whilly.core.plan import Review, Status
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause
from whilly.operations.reset_plan import reset_plan
from whilly.operations.review_task import review_task
from whilly.operations.set_budget import set_budget, set_task_budget
from whilly.operations.set_repository import set_repository
from whilly.operations.steer_task import cancel_task, retry_task, skip_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database


async def fail(database: Database, plan: str = "p") -> str:
    attempt = await running(database, plan)
    await finished(database, attempt.key, a_report(Outcome.REFUSED, reason="No."))
    return attempt.spec.id


async def test_retrying_a_failed_prerequisite_frees_those_that_it_blocked(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",))))
    await fail(database)
    assert await statuses(database) == {"A": "FAILED", "B": "BLOCKED"}

    assert await retry_task(database, "p", "A", "ada") is Status.PENDING

    assert await statuses(database) == {"A": "PENDING", "B": "PENDING"}
    assert [await done(database) for _ in range(2)] == ["A", "B"]


async def test_a_task_with_two_bad_prerequisites_stays_blocked_by_the_other(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), a_task("C", ("A", "B"))))
    await fail(database)
    await skip_task(database, "p", "B", "ada")

    await retry_task(database, "p", "A", "ada")

    row = await row_of(database, "C")
    assert (row["status"], row["blocked_by"]) == ("BLOCKED", "B")
    assert row["reason"] == "B, which it needs, is SKIPPED: Skipped by ada."


async def test_retrying_a_blocked_task_does_not_pass_over_its_prerequisite(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",))))
    await fail(database)

    assert await retry_task(database, "p", "B", "ada") is Status.BLOCKED


async def test_a_retry_starts_with_fresh_attempts_and_keeps_the_epoch(database: Database) -> None:
    await import_plan(database, a_plan())
    await fail(database)
    await retry_task(database, "p", "T1", "ada")

    attempt = await running(database)

    assert attempt.epoch == 2
    assert attempt.earlier is None
    assert (await row_of(database, "T1"))["attempts"] == 1


async def test_a_waiting_task_is_cancelled_at_once_and_blocks_its_dependants(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",))))

    assert await cancel_task(database, "p", "A", "ada") is Status.FAILED

    assert await statuses(database) == {"A": "FAILED", "B": "BLOCKED"}


@pytest.mark.parametrize(
    ("steer", "said"),
    [
        (cancel_task, "DONE already"),
        (skip_task, "result stays"),
        (retry_task, "only FAILED, BLOCKED and SKIPPED"),
    ],
)
async def test_what_is_done_stays_done(database: Database, steer: object, said: str) -> None:
    await import_plan(database, a_plan())
    await done(database)

    with pytest.raises(Refused, match=said):
        await steer(database, "p", "T1", "ada")  # type: ignore[operator]


async def test_a_running_task_is_not_skipped_behind_its_workers_back(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    with pytest.raises(Refused, match="cancel it first"):
        await skip_task(database, "p", "T1", "ada")


async def test_nobody_steers_what_does_not_exist(database: Database) -> None:
    await import_plan(database, a_plan())

    with pytest.raises(UnknownTask):
        await cancel_task(database, "p", "NOPE", "ada")
    with pytest.raises(UnknownPlan):
        await pause(database, "nope", "", "ada")
    with pytest.raises(UnknownPlan):
        await set_budget(database, "nope", None)
    with pytest.raises(UnknownPlan):
        await reset_plan(database, "nope", hard=True)


async def test_approval_before_the_work_lets_it_start(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",), review=Review.BEFORE)))
    assert await statuses(database) == {"A": "PENDING", "B": "PENDING"}
    await done(database)
    assert await statuses(database) == {"A": "DONE", "B": "HUMAN_LOOP"}

    assert await review_task(database, "p", "B", "approved", "ada") is Status.PENDING

    assert await done(database) == "B"


async def test_a_rejection_ends_the_task_and_blocks_its_dependants(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", review=Review.RESULT), a_task("B", ("A",))))
    attempt = await running(database)
    await finished(database, attempt.key)

    assert await review_task(database, "p", "A", "rejected", "ada", "Too slow.") is Status.FAILED

    assert await statuses(database) == {"A": "FAILED", "B": "BLOCKED"}
    assert (await row_of(database, "A"))["reason"] == "Rejected by ada: Too slow."


async def test_requested_changes_reach_the_next_attempt(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", review=Review.RESULT)))
    attempt = await running(database)
    await finished(database, attempt.key)
    await review_task(database, "p", "A", "changes_requested", "ada", "Name it better.")

    again = await claimed(database)

    assert again is not None
    assert again.earlier is not None
    assert again.earlier.comment == "Name it better."
    assert again.earlier.head_commit


@pytest.mark.parametrize(
    ("decision", "reviewer", "comment", "said"),
    [
        ("maybe", "ada", "", "one of"),
        ("approved", " ", "", "name of the person"),
        ("changes_requested", "ada", " ", "what shall change"),
        ("approved", "ada", "", "does not wait"),
    ],
)
async def test_a_decision_that_makes_no_sense_is_refused(
    database: Database, decision: str, reviewer: str, comment: str, said: str
) -> None:
    await import_plan(database, a_plan())

    with pytest.raises(Refused, match=said):
        await review_task(database, "p", "T1", decision, reviewer, comment)


async def test_a_reset_starts_over_and_keeps_the_history(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",)), a_task("C", review=Review.BEFORE)))
    await done(database)
    before = await told(database)

    assert await reset_plan(database, "p", hard=False) == 3

    assert await statuses(database) == {"A": "PENDING", "B": "PENDING", "C": "HUMAN_LOOP"}
    assert (await told(database))[: len(before)] == before
    assert (await row_of(database, "B"))["unmet"] == 1
    assert [await done(database) for _ in range(2)] == ["A", "B"]
    assert (await row_of(database, "A"))["epoch"] == 2


async def test_a_hard_reset_removes_the_plan_and_keeps_the_log(database: Database) -> None:
    await import_plan(database, a_plan())
    await done(database)
    before = await told(database)

    await reset_plan(database, "p", hard=True)

    assert await statuses(database) == {}
    assert await told(database) == [*before, "plan.deleted"]


async def test_a_plan_that_was_deleted_and_comes_again_does_not_believe_its_old_workers(database: Database) -> None:
    await import_plan(database, a_plan())
    lost = await running(database)
    async with database.connection() as connection:
        await connection.execute("update tasks set lease_until = clock_timestamp() - interval '1 s'")
    await sweep_leases(database)
    await reset_plan(database, "p", hard=True)
    await import_plan(database, a_plan(a_task(description="Something else entirely.")))
    living = await running(database)

    with pytest.raises(LeaseLost):
        await finished(database, lost.key)

    assert (await finished(database, living.key)).status is Status.DONE


async def test_a_plan_that_comes_again_may_be_changed_until_it_starts(database: Database) -> None:
    await import_plan(database, a_plan())
    await done(database)
    await reset_plan(database, "p", hard=True)
    await import_plan(database, a_plan())

    change = await import_plan(database, a_plan(a_task(description="Something else entirely.")))

    assert change.changed == ("T1",)
    assert await done(database) == "T1"
    with pytest.raises(Refused, match="T1 would change"):
        await import_plan(database, a_plan())


async def test_a_running_plan_is_not_reset(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    with pytest.raises(Refused, match="running tasks"):
        await reset_plan(database, "p", hard=True)


async def test_a_task_whose_own_budget_is_used_up_goes_on_with_a_larger_one(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", budget=100)))
    attempt = await running(database)
    await finished(database, attempt.key, a_report(Outcome.OVER_BUDGET, cost=120))
    await retry_task(database, "p", "A", "ada")
    assert await claimed(database) is None

    await set_task_budget(database, "p", "A", 500)

    again = await claimed(database)
    assert again is not None
    assert (again.limit, again.spec.budget) == (380, 500)


async def test_a_budget_set_while_it_runs_counts_what_is_reserved(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), a_task("C")))
    await running(database)

    await set_budget(database, "p", 800_000)

    second = await claimed(database)
    assert second is not None
    assert second.limit == 300_000
    assert await claimed(database) is None
    await set_budget(database, "p", None)
    assert await claimed(database) is not None


async def test_a_plan_does_not_move_to_another_repository_while_it_runs(database: Database) -> None:
    await import_plan(database, a_plan())
    await set_repository(database, "p", "/one")
    attempt = await running(database)
    await set_repository(database, "p", "/one")

    with pytest.raises(Refused, match="running in /one"):
        await set_repository(database, "p", "/two")

    await finished(database, attempt.key)
    await set_repository(database, "p", "/two")
