"""What a report brings about."""

import asyncio

import pytest

from tests.builders import (
    COMMIT,
    a_check,
    a_plan,
    a_report,
    a_result,
    a_task,
    claimed,
    done,
    finished,
    row_of,
    running,
    statuses,
    told,
)
from whilly.core.assignment import AttemptKey
from whilly.core.errors import ConflictingReport, LeaseLost, UnknownTask
from whilly.core.evidence import Usage
from whilly.core.money import from_usd
from whilly.core.outcome import ENDINGS, Outcome, Remedy
from whilly.core.plan import Review, Status
from whilly.operations.finish_attempts import finish_attempts, release_attempt
from whilly.operations.import_plan import import_plan
from whilly.operations.read_attempts import task_detail
from whilly.operations.review_task import review_task
from whilly.store.database import Database
from whilly.wire.work import Release


async def test_a_proved_attempt_makes_the_task_done(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), checks=(a_check(),)))
    attempt = await running(database)

    answer = await finished(database, attempt.key, a_report(checks=(a_result(),), cost=1200))

    assert answer.status is Status.DONE
    assert await told(database, "A") == ["task.created", "CLAIM", "START", "COMPLETE"]
    (seen,) = (await task_detail(database, "p", "A")).attempts
    assert (seen.outcome, seen.head_commit, seen.usage.cost) == ("completed", COMMIT, 1200)
    assert seen.checks[0].name == "unit"


async def test_a_claimed_task_may_be_completed_without_a_start(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await claimed(database)
    assert attempt is not None

    assert (await finished(database, attempt.key)).status is Status.DONE


@pytest.mark.parametrize(
    "report",
    [
        a_report(head_commit=""),
        a_report(files_changed=0),
        a_report(Outcome.NO_CHANGES),
    ],
)
async def test_an_attempt_that_changed_nothing_is_never_a_success(database: Database, report: object) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    answer = await finished(database, attempt.key, report)  # type: ignore[arg-type]

    assert answer.status is Status.FAILED
    (seen,) = (await task_detail(database, "p", "T1")).attempts
    assert seen.outcome == "no_changes"


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ((), "did not run"),
        ((a_result(passed=False),), "exit code 1"),
        ((a_result(commit="another"),), "another commit"),
        ((a_result(passed=False, note="no tests were collected"),), "no tests were collected"),
    ],
)
async def test_a_required_check_that_is_not_proved_starts_one_repair_and_then_fails(
    database: Database, checks: tuple[object, ...], said: str
) -> None:
    await import_plan(database, a_plan(checks=(a_check(),)))
    report = a_report(checks=checks)
    attempt = await running(database)

    first = await finished(database, attempt.key, report)
    again = await running(database)
    second = await finished(database, again.key, report)

    assert first.status is Status.PENDING
    assert said in first.reason
    assert again.earlier is not None
    assert again.earlier.head_commit == COMMIT
    assert second.status is Status.FAILED
    assert "repair.attempt.requested" in await told(database, "T1")
    assert "repair.escalated" in await told(database, "T1")


async def test_a_repair_knows_what_failed(database: Database) -> None:
    await import_plan(database, a_plan(checks=(a_check(),)))
    attempt = await running(database)
    await finished(database, attempt.key, a_report(checks=(a_result(passed=False, output_head="1 != 2"),)))

    again = await claimed(database)

    assert again is not None
    assert again.earlier is not None
    assert "$ run unit\n1 != 2" in again.earlier.failing_output


async def test_an_optional_check_blocks_nothing(database: Database) -> None:
    await import_plan(database, a_plan(checks=(a_check("style", required=False),)))
    attempt = await running(database)

    answer = await finished(database, attempt.key, a_report(checks=(a_result("style", passed=False, required=False),)))

    assert answer.status is Status.DONE


async def test_a_required_check_from_the_command_line_counts(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    answer = await finished(database, attempt.key, a_report(checks=(a_result("mine", passed=False),)))

    assert answer.status is Status.PENDING


async def test_the_worker_cannot_make_a_required_check_optional(database: Database) -> None:
    await import_plan(database, a_plan(checks=(a_check(repair_max_attempts=0),)))
    attempt = await running(database)

    answer = await finished(database, attempt.key, a_report(checks=(a_result(passed=False, required=False),)))

    assert answer.status is Status.FAILED


@pytest.mark.parametrize("outcome", [o for o in Outcome if ENDINGS[o].remedy in (Remedy.RETRY, Remedy.BACK_OFF)])
async def test_faults_are_tried_three_times_in_all(database: Database, outcome: Outcome) -> None:
    await import_plan(database, a_plan())
    statuses_seen = []
    for _ in range(3):
        async with database.connection() as connection:
            await connection.execute("update tasks set parked_until = null")
        attempt = await running(database)
        statuses_seen.append((await finished(database, attempt.key, a_report(outcome))).status)

    assert statuses_seen == [Status.PENDING, Status.PENDING, Status.FAILED]


async def test_infrastructure_faults_wait_longer_each_time(database: Database) -> None:
    await import_plan(database, a_plan())
    waits = []
    for _ in range(2):
        attempt = await running(database)
        await finished(database, attempt.key, a_report(Outcome.WORKSPACE_ERROR))
        row = await row_of(database, "T1")
        waits.append(round((row["parked_until"] - row["updated_at"]).total_seconds()))
        async with database.connection() as connection:
            await connection.execute("update tasks set parked_until = null")

    assert waits == [5, 10]


@pytest.mark.parametrize("outcome", [o for o in Outcome if ENDINGS[o].remedy is Remedy.PERSON])
async def test_what_needs_a_person_is_blocked(database: Database, outcome: Outcome) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    answer = await finished(database, attempt.key, a_report(outcome, reason="Because."))

    assert answer.status is Status.BLOCKED
    assert answer.reason == "Because."


@pytest.mark.parametrize("cause", ["shutdown", "agent_missing", "operator_pause"])
async def test_a_release_uses_up_no_attempt(database: Database, cause: str) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    answer = await release_attempt(database, attempt.key, Release(cause))

    assert answer.status is Status.PENDING
    assert (await row_of(database, "T1"))["attempts"] == 0
    again = await claimed(database)
    assert again is not None
    assert again.epoch == 2


async def test_a_verified_result_waits_for_a_person_where_one_is_wanted(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", review=Review.RESULT), a_task("B", ("A",))))
    attempt = await running(database)
    answer = await finished(database, attempt.key)
    assert answer.status is Status.HUMAN_LOOP
    assert await claimed(database) is None

    assert await review_task(database, "p", "A", "approved", "ada") is Status.DONE

    following = await claimed(database)
    assert following is not None
    assert following.prerequisites[0].commit == COMMIT


async def test_a_repeated_report_gets_the_same_answer_and_changes_nothing(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    first = await finished(database, attempt.key, a_report(cost=50))
    events = await told(database)
    again = await finished(database, attempt.key, a_report(cost=50))

    assert first == again
    assert await told(database) == events
    assert (await row_of(database, "T1"))["spent_micros"] == 50


async def test_the_same_report_twice_in_one_batch_counts_once(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    first, second = await finish_attempts(database, [(attempt.key, a_report())] * 2)

    assert first == second
    assert (await told(database, "T1")).count("COMPLETE") == 1


async def test_a_different_report_is_a_conflict(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    await finished(database, attempt.key)

    with pytest.raises(ConflictingReport):
        await finished(database, attempt.key, a_report(Outcome.INCOMPLETE))


async def test_an_old_epoch_is_refused_and_its_neighbour_is_not(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    stale = await running(database)
    other = await running(database)
    await finished(database, stale.key, a_report(Outcome.INCOMPLETE))
    fresh = await running(database)
    assert fresh.spec.id == "A"
    unheard = AttemptKey("p", "NOPE", 1)
    future = AttemptKey("p", "A", 9)

    answers = await finish_attempts(
        database,
        [(stale.key, a_report()), (other.key, a_report()), (unheard, a_report()), (future, a_report())],
    )

    assert [type(answer).__name__ for answer in answers] == [
        ConflictingReport.__name__,
        "FinishAnswer",
        UnknownTask.__name__,
        LeaseLost.__name__,
    ]
    assert (await statuses(database))["A"] == "IN_PROGRESS"


async def test_two_last_prerequisites_in_the_same_moment_release_once(database: Database) -> None:
    rounds = 200
    tasks = [a_task(f"{name}{n}") for n in range(rounds) for name in "AB"]
    tasks += [a_task(f"C{n}", (f"A{n}", f"B{n}")) for n in range(rounds)]
    await import_plan(database, a_plan(*tasks))
    attempts = [await running(database) for _ in range(2 * rounds)]

    for one, two in zip(attempts[::2], attempts[1::2], strict=True):
        await asyncio.gather(finished(database, one.key), finished(database, two.key))

    for n in range(rounds):
        assert await told(database, f"C{n}") == ["task.created", "task.ready"]
        assert (await row_of(database, f"C{n}"))["unmet"] == 0


async def test_a_failed_prerequisite_blocks_those_that_need_it(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",)), a_task("C", ("B",))))
    attempt = await running(database)

    await finished(database, attempt.key, a_report(Outcome.REFUSED, reason="No."))

    assert await statuses(database) == {"A": "FAILED", "B": "BLOCKED", "C": "PENDING"}
    assert (await row_of(database, "B"))["reason"] == "A, which it needs, is FAILED: No."


async def test_costs_of_failed_attempts_count(database: Database) -> None:
    await import_plan(database, a_plan(budget=from_usd("1.00")))
    first = await running(database)
    await finished(database, first.key, a_report(Outcome.INCOMPLETE, cost=from_usd("0.60")))
    second = await running(database)
    assert second.limit == from_usd("0.40")
    await finished(database, second.key, a_report(Outcome.INCOMPLETE, cost=from_usd("0.60")))

    assert await claimed(database) is None
    assert (await told(database)).count("plan.budget_exceeded") == 1


async def test_an_unknown_cost_counts_as_its_reservation(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), budget=from_usd("0.80")))
    first = await running(database)
    await finished(database, first.key, a_report(cost=None))

    second = await claimed(database)

    assert second is not None
    assert second.limit == from_usd("0.30")
    (seen,) = (await task_detail(database, "p", "A")).attempts
    assert seen.usage == Usage(None)


async def test_an_agent_that_never_started_is_not_charged(database: Database) -> None:
    await import_plan(database, a_plan(budget=from_usd("0.50")))
    attempt = await claimed(database)
    assert attempt is not None
    await release_attempt(database, attempt.key, Release("shutdown"))

    again = await claimed(database)

    assert again is not None
    assert again.limit == from_usd("0.50")


async def test_key_files_are_free_after_the_attempt(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", key_files=("x",)), a_task("B", key_files=("x",))))

    assert [await done(database) for _ in range(2)] == ["A", "B"]
