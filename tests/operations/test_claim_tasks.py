"""Who gets which task, and when nobody gets one."""

import asyncio
import itertools
from datetime import timedelta

import pytest

from tests.builders import (
    a_check,
    a_plan,
    a_report,
    a_request,
    a_task,
    claimed,
    done,
    finished,
    row_of,
    running,
    statuses,
)
from whilly.core.key_files import overlap
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Priority, RepoTarget, Review
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.explain_task import explain_task
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause, resume
from whilly.operations.set_repository import set_repository
from whilly.store.database import Database

LEASE = timedelta(seconds=60)


async def test_the_most_urgent_task_comes_first_then_the_plans_order(database: Database) -> None:
    low, first, second = a_task("LOW", priority=Priority.LOW), a_task("B"), a_task("A")
    await import_plan(database, a_plan(low, first, second, a_task("NOW", priority=Priority.CRITICAL)))

    order = [await done(database) for _ in range(4)]

    assert order == ["NOW", "B", "A", "LOW"]


async def test_a_task_waits_for_all_its_prerequisites(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), a_task("C", ("A", "B"), priority=Priority.CRITICAL)))
    one, two = await running(database), await running(database)

    assert await claimed(database) is None
    await finished(database, one.key)
    assert await claimed(database) is None
    await finished(database, two.key)
    third = await claimed(database)

    assert third is not None
    assert [found.task for found in third.prerequisites] == ["A", "B"]
    assert third.prerequisites[0].commit


async def test_two_tasks_with_a_common_key_file_never_run_at_once(database: Database) -> None:
    await import_plan(
        database, a_plan(a_task("A", key_files=("x.py", "y.py")), a_task("B", key_files=("y.py",)), a_task("C"))
    )
    asks = [("w", a_request()) for _ in range(3)]

    together = await claim_tasks(database, asks, LEASE)

    assert [found.spec.id for found in together if found] == ["A", "C"]
    await finished(database, together[0].key)  # type: ignore[union-attr]
    then = await claimed(database)
    assert then is not None
    assert then.spec.id == "B"


async def test_a_folder_and_a_file_in_it_do_not_run_at_once(database: Database) -> None:
    await import_plan(
        database,
        a_plan(
            a_task("ALL", key_files=("src",)),
            a_task("ONE", key_files=("src/a.py",)),
            a_task("SRC2", key_files=("srcs",)),
        ),
    )

    found = await claim_tasks(database, [("w", a_request()) for _ in range(3)], LEASE)
    assert [one.spec.id for one in found if one] == ["ALL", "SRC2"]
    assert await claimed(database) is None
    assert "ALL is changing src" in (await explain_task(database, "p", "ONE")).sentence
    await finished(database, found[0].key)  # type: ignore[union-attr]

    assert (await running(database)).spec.id == "ONE"


async def test_many_who_want_one_folder_at_once_get_it_in_turn(database: Database) -> None:
    files = [("src",), ("src/a.py",), ("src/b/c.py",), ("src/b",), ("src/a.py", "lib")]
    await import_plan(database, a_plan(*(a_task(f"T{n}", key_files=paths) for n, paths in enumerate(files))))

    answers = await asyncio.gather(*(claimed(database, worker=f"w{n}") for n in range(5)))

    together = [answer.spec.key_files for answer in answers if answer]
    assert together
    assert not any(overlap(one, other) for one, other in itertools.combinations(together, 2))


async def test_key_files_are_shared_by_all_plans_of_one_repository(database: Database, tmp_path: object) -> None:
    for plan in ("p", "q"):
        await import_plan(database, a_plan(a_task("A", key_files=("x.py",)), plan=plan))
        await set_repository(database, plan, "/repo")

    assert await claimed(database, "p") is not None
    assert await claimed(database, "q") is None


async def test_key_files_of_different_repositories_do_not_meet(database: Database) -> None:
    targets = (RepoTarget("one", "github", "o/one"), RepoTarget("two", "github", "o/two"))
    tasks = [a_task(name, key_files=("x.py",), repo_target_id=name) for name in ("one", "two")]
    await import_plan(database, a_plan(*tasks, repo_targets=targets))

    first, second = await claimed(database), await claimed(database)

    assert first is not None
    assert second is not None
    assert first.repo_target == targets[0]


async def test_many_tasks_on_one_file_do_not_hide_the_others(database: Database) -> None:
    crowd = [a_task(f"X{n}", key_files=("x.py",)) for n in range(20)]
    await import_plan(database, a_plan(*crowd, a_task("FREE")))

    found = await claim_tasks(database, [("w", a_request()) for _ in range(4)], LEASE)

    assert [one.spec.id for one in found if one] == ["X0", "FREE"]


async def test_a_claim_asked_again_gets_the_same_answer(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))

    first = await claimed(database, claim_id="mine")
    again = await claimed(database, claim_id="mine")

    assert first is not None
    assert first == again
    assert (await statuses(database)) == {"A": "CLAIMED", "B": "PENDING"}


async def test_one_claim_asked_twice_at_once_takes_one_task(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))

    answers = await asyncio.gather(*(claimed(database, claim_id="mine") for _ in range(4)))

    taken = {answer.spec.id for answer in answers if answer}
    assert len(taken) == 1
    # B, when the one that had taken A gives it back because B was taken under the same name.
    assert {task for task, status in (await statuses(database)).items() if status == "CLAIMED"} == taken


async def test_somebody_elses_claim_id_gives_nothing_away(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A")))
    await claimed(database, claim_id="mine", worker="w1")

    assert await claimed(database, claim_id="mine", worker="w2") is None


async def test_each_task_goes_to_one_of_many(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(f"T{n}") for n in range(100))))

    answers = await asyncio.gather(*(claimed(database, worker=f"w{n}") for n in range(100)))

    assert len({answer.spec.id for answer in answers if answer}) == 100


async def test_a_budget_grants_no_more_than_it_holds(database: Database) -> None:
    plan = a_plan(*(a_task(f"T{n}") for n in range(16)), budget=from_usd("2.00"))
    await import_plan(database, plan)

    answers = await asyncio.gather(*(claimed(database, worker=f"w{n}") for n in range(16)))

    granted = [answer for answer in answers if answer]
    assert [answer.limit for answer in granted] == [from_usd("0.50")] * 4


async def test_a_tasks_own_budget_limits_its_attempts_together(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", budget=from_usd("0.30"))))
    first = await running(database)
    assert first.limit == from_usd("0.30")
    await finished(database, first.key, a_report(Outcome.INCOMPLETE, cost=from_usd("0.20")))

    second = await running(database)

    assert second.limit == from_usd("0.10")


@pytest.mark.parametrize("scope", ["p", None])
async def test_nothing_is_handed_out_while_paused(database: Database, scope: str | None) -> None:
    await import_plan(database, a_plan())
    await pause(database, scope, "lunch", "ada")
    assert await claimed(database) is None

    await resume(database, scope, "ada")

    assert await claimed(database) is not None


async def test_a_worker_gets_only_what_its_agents_can_do(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", agent="claude"), a_task("B")))

    (found,) = await claim_tasks(database, [("w", a_request(agents=("scripted",)))], LEASE)
    (other,) = await claim_tasks(database, [("w", a_request(agents=("scripted", "claude")))], LEASE)

    assert found is not None
    assert other is not None
    assert (found.spec.id, other.spec.id, other.agent) == ("B", "A", "claude")


async def test_a_task_that_asks_first_is_not_handed_out(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", review=Review.BEFORE)))

    assert await claimed(database) is None
    assert (await statuses(database)) == {"A": "HUMAN_LOOP"}


async def test_a_parked_task_is_passed_over_until_its_time(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    first = await running(database)
    await finished(database, first.key, a_report(Outcome.RATE_LIMITED, retry_after_seconds=3600))

    second = await claimed(database)

    assert second is not None
    assert second.spec.id == "B"
    row = await row_of(database, "A")
    assert row["attempts"] == 0
    assert timedelta(minutes=59) < row["parked_until"] - row["updated_at"] <= timedelta(minutes=60)


async def test_an_assignment_carries_the_plans_checks_and_the_tasks_own(database: Database) -> None:
    task = a_task("A", checks=(a_check("unit", command="task's own"), a_check("extra")), timeout_minutes=5)
    await import_plan(database, a_plan(task, checks=(a_check("unit"), a_check("lint")), timeout_minutes=20))

    found = await claimed(database)

    assert found is not None
    assert {check.name: check.command for check in found.checks} == {
        "unit": "task's own",
        "lint": "run lint",
        "extra": "run extra",
    }
    assert found.timeout_minutes == 5
