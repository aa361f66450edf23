"""What a plan may spend: told once when it is reached, asked about instead of lost, and never exceeded by more than
what is in flight."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import a_plan, a_report, a_request, a_task, claimed, finished, row_of, running, statuses, told
from whilly.core.assignment import Assignment
from whilly.core.errors import Refused, UnknownPlan
from whilly.core.evidence import Usage
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Plan, Status
from whilly.core.why import Code
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.explain_task import explain_task
from whilly.operations.finish_attempts import finish_attempts
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause, resume
from whilly.operations.read_events import event_from
from whilly.operations.read_plans import export_plan, plan_summary
from whilly.operations.read_progress import read_progress
from whilly.operations.renew_leases import renew_leases
from whilly.operations.set_budget import set_budget, set_daily_budget
from whilly.store.database import Database
from whilly.wire.work import Heartbeat

LEASE = timedelta(seconds=60)


def tasks(count: int, **more: Any) -> Plan:
    return a_plan(*(a_task(f"T{number}") for number in range(count)), **more)


async def costs(database: Database, usd: str, outcome: Outcome = Outcome.COMPLETED) -> None:
    """The next attempt costs so much."""
    attempt = await running(database)
    await finished(database, attempt.key, a_report(outcome, cost=from_usd(usd)))


async def payloads(database: Database, kind: str) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select e.*, 0 as position, ''::bytea as hash from events e where type = $1 order by id", kind
        )
    return [event_from(row).payload for row in rows]


async def count(database: Database, kind: str) -> int:
    return (await told(database)).count(kind)


async def tomorrow(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("update plans set day = day - 1")


async def test_a_crossing_is_told_with_what_crossed_it(database: Database) -> None:
    await import_plan(database, tasks(5, budget=from_usd("1.00")))
    await costs(database, "0.50")
    assert await count(database, "plan.budget_warning") == 0
    await costs(database, "0.30")
    await costs(database, "0.35")

    (warning,) = await payloads(database, "plan.budget_warning")
    (exceeded,) = await payloads(database, "plan.budget_exceeded")
    assert warning == {
        "plan_id": "p",
        "budget_usd": "1",
        "spent_usd": "0.8",
        "crossing_task_id": "T1",
        "reason": "budget_threshold",
        "threshold_pct": 80,
    }
    assert exceeded == {**warning, "spent_usd": "1.15", "crossing_task_id": "T2", "threshold_pct": 100}
    async with database.connection() as connection:
        rows = await connection.fetch("select plan_id, task_id from events where type like 'plan.budget_%'")
    assert {tuple(row) for row in rows} == {("p", None)}


async def test_many_workers_share_the_last_cent(database: Database) -> None:
    await import_plan(database, tasks(21, budget=from_usd("0.51")))
    await costs(database, "0.50")

    asks = [[(f"w{number}", a_request())] for number in range(20)]
    found = await asyncio.gather(*(claim_tasks(database, [*ask], LEASE) for ask in asks))

    (one,) = (assignment for answers in found for assignment in answers if assignment)
    assert one.limit == from_usd("0.01")


async def test_dimes_add_up_exactly(database: Database) -> None:
    await import_plan(database, tasks(4, budget=from_usd(0.3)))
    for _ in range(3):
        assert await count(database, "plan.budget_exceeded") == 0
        await costs(database, "0.1")

    assert await count(database, "plan.budget_exceeded") == 1


async def test_one_bill_may_reach_both(database: Database) -> None:
    await import_plan(database, tasks(2, budget=from_usd("0.40")))
    await costs(database, "0.50")

    assert [kind for kind in await told(database) if kind.startswith("plan.budget_")] == [
        "plan.budget_warning",
        "plan.budget_exceeded",
    ]


async def test_many_workers_that_cross_at_once_cross_once(database: Database) -> None:
    await import_plan(database, tasks(16, budget=from_usd("8")))
    asks = [(f"w{number}", a_request()) for number in range(16)]
    held = [one for one in await claim_tasks(database, asks, LEASE) if one]
    assert len(held) == 16

    async def ends(attempt: Assignment) -> None:
        await finish_attempts(database, [(attempt.key, a_report(cost=from_usd("0.60")))])

    await asyncio.gather(*(ends(attempt) for attempt in held))

    assert await count(database, "plan.budget_warning") == 1
    assert await count(database, "plan.budget_exceeded") == 1
    assert (await plan_summary(database, "p")).spent == from_usd("9.60")


async def test_a_raised_budget_is_crossed_again(database: Database) -> None:
    await import_plan(database, tasks(9, budget=from_usd("0.50")))
    for crossing, budget in enumerate(("1.00", "1.50", "2.00"), start=1):
        await costs(database, "0.50")
        assert await count(database, "plan.budget_exceeded") == crossing
        assert await count(database, "plan.budget_warning") == crossing
        assert await claimed(database) is None
        await set_budget(database, "p", from_usd(budget), "ada")


async def test_a_budget_lowered_below_what_is_spent_is_exceeded_but_asks_nothing(database: Database) -> None:
    await import_plan(database, tasks(3, budget=from_usd("5")))
    await costs(database, "1")
    await set_budget(database, "p", from_usd("0.90"))
    await set_budget(database, "p", from_usd("0.80"))

    (exceeded,) = await payloads(database, "plan.budget_exceeded")
    assert exceeded["crossing_task_id"] is None
    assert (await plan_summary(database, "p")).paused is None
    assert await claimed(database) is None


async def test_a_budget_of_nothing_is_not_exceeded_by_nothing(database: Database) -> None:
    await import_plan(database, tasks(1))
    await set_budget(database, "p", 0)
    assert await claimed(database) is None
    assert not [kind for kind in await told(database) if kind.startswith("plan.budget_exceeded")]


async def test_a_plan_without_money_asks_and_goes_on_when_it_is_raised(database: Database) -> None:
    await import_plan(database, tasks(3, budget=from_usd("0.50")))
    await costs(database, "0.52")

    asks = await plan_summary(database, "p")
    assert asks.asks_about_budget
    assert asks.paused == "The budget of $0.50 is used up ($0.52 spent): raise it, or go on without one?"
    (paused,) = await payloads(database, "plan.paused")
    assert paused == {"plan_id": "p", "reason": asks.paused, "by": "whilly"}
    why = await explain_task(database, "p", "T1")
    assert why.code is Code.OVER_BUDGET
    assert "whilly budget set p AMOUNT" in why.remedy

    await set_budget(database, "p", from_usd("0.51"), "ada")
    assert (await plan_summary(database, "p")).asks_about_budget
    await set_budget(database, "p", from_usd("3"), "ada")
    assert (await plan_summary(database, "p")).paused is None
    assert await payloads(database, "plan.resumed") == [{"plan_id": "p", "reason": "", "by": "ada"}]
    assert await claimed(database) is not None


async def test_a_plan_without_money_goes_on_without_a_budget(database: Database) -> None:
    await import_plan(database, tasks(2, budget=from_usd("0.50")))
    await costs(database, "0.50")
    with pytest.raises(Refused, match=r"has spent \$0.50 of its budget of \$0.50. Raise it with .*p none`\."):
        await resume(database, "p", "ada")

    await set_budget(database, "p", None)

    assert await claimed(database) is not None


async def test_a_new_version_of_the_plan_may_bring_the_money(database: Database) -> None:
    await import_plan(database, tasks(2, budget=from_usd("0.50")))
    await costs(database, "0.50")
    await import_plan(database, tasks(2, budget=from_usd("5")))

    assert await claimed(database) is not None


async def test_a_persons_pause_stays_theirs(database: Database) -> None:
    await import_plan(database, tasks(3, budget=from_usd("0.50")))
    attempt = await running(database)
    await pause(database, "p", "Lunch", "ada")
    await finished(database, attempt.key, a_report(cost=from_usd("0.60")))
    await set_budget(database, "p", from_usd("9"))

    assert (await plan_summary(database, "p")).paused == "Lunch"
    await resume(database, "p", "ada")
    assert await claimed(database) is not None


async def test_a_finished_plan_asks_nothing(database: Database) -> None:
    await import_plan(database, tasks(1, budget=from_usd("0.50")))
    await costs(database, "0.50")

    assert (await plan_summary(database, "p")).paused is None
    assert await count(database, "plan.budget_exceeded") == 1


async def test_an_attempt_that_the_plans_budget_stopped_goes_on_from_its_work(database: Database) -> None:
    await import_plan(database, tasks(1, budget=from_usd("0.50")))
    attempt = await running(database)
    report = a_report(Outcome.OVER_BUDGET, cost=from_usd("0.51"), head_commit="c0ffee", kept_ref="refs/whilly/p/T0/e1")
    answer = await finished(database, attempt.key, report)
    assert answer.status is Status.PENDING
    assert await claimed(database) is None
    assert (await row_of(database, "T0"))["attempts"] == 0

    await set_budget(database, "p", from_usd("1"))

    again = await claimed(database)
    assert again is not None
    assert again.earlier is not None
    assert (again.earlier.outcome, again.earlier.head_commit) == ("over_budget", "c0ffee")
    assert again.limit == from_usd("0.49")


async def test_an_attempt_that_its_own_budget_stopped_waits_for_a_person(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", budget=from_usd("0.20")), budget=from_usd("5")))
    await costs(database, "0.20", Outcome.OVER_BUDGET)

    assert await statuses(database) == {"A": "BLOCKED"}


async def test_a_day_has_its_own_budget(database: Database) -> None:
    await import_plan(database, tasks(9, daily_budget=from_usd("1.00")))
    await costs(database, "0.50")
    await costs(database, "0.30")
    third = await running(database)
    assert third.limit == from_usd("0.20")
    assert await claimed(database) is None
    await finished(database, third.key, a_report(cost=from_usd("0.25")))
    assert await claimed(database) is None

    (warning,) = await payloads(database, "plan.daily_budget_warning")
    (exceeded,) = await payloads(database, "plan.daily_budget_exceeded")
    assert (warning["spent_usd"], warning["threshold_pct"], warning["crossing_task_id"]) == ("0.8", 80, "T1")
    assert (exceeded["spent_usd"], exceeded["threshold_pct"], exceeded["crossing_task_id"]) == ("1.05", 100, "T2")
    assert exceeded["day"]
    assert await count(database, "plan.budget_exceeded") == 0
    summary = await plan_summary(database, "p")
    assert (summary.paused, summary.spent_today) == (None, from_usd("1.05"))
    assert (await explain_task(database, "p", "T3")).code is Code.OVER_DAILY_BUDGET
    progress = await read_progress(database, "p", ("scripted",))
    assert progress.over
    assert (progress.plan_spent_up, progress.day_spent_up) == (False, True)

    await tomorrow(database)

    assert (await plan_summary(database, "p")).spent_today == 0
    await costs(database, "0.90")
    assert await count(database, "plan.daily_budget_warning") == 2
    summary = await plan_summary(database, "p")
    assert (summary.spent, summary.spent_today) == (from_usd("1.95"), from_usd("0.90"))


async def test_a_daily_budget_set_while_it_runs_counts_what_is_reserved(database: Database) -> None:
    await import_plan(database, tasks(3))
    await running(database)
    await set_daily_budget(database, "p", from_usd("0.80"))

    second = await claimed(database)
    assert second is not None
    assert second.limit == from_usd("0.30")
    assert await claimed(database) is None
    await set_daily_budget(database, "p", None)
    assert await claimed(database) is not None


async def test_a_lowered_daily_budget_reaches_running_agents(database: Database) -> None:
    await import_plan(database, tasks(3, daily_budget=from_usd("5")))
    attempt = await running(database)
    await set_daily_budget(database, "p", from_usd("0.10"))

    (answer,) = await renew_leases(database, [(attempt.key, Heartbeat("agent", usage=Usage(0)))], LEASE)

    assert not isinstance(answer, Exception)
    assert answer.limit == from_usd("0.10")


async def test_both_budgets_count(database: Database) -> None:
    await import_plan(database, tasks(9, budget=from_usd("0.70"), daily_budget=from_usd("0.60")))
    await costs(database, "0.40")
    second = await claimed(database)
    assert second is not None
    assert second.limit == from_usd("0.20")


async def test_a_daily_budget_comes_through_the_plan(database: Database) -> None:
    await import_plan(database, tasks(1, daily_budget=from_usd("2.50")))
    assert (await export_plan(database, "p")).daily_budget == from_usd("2.50")
    await import_plan(database, tasks(1))
    assert (await export_plan(database, "p")).daily_budget == from_usd("2.50")
    await import_plan(database, tasks(1, daily_budget=from_usd("3")))
    assert (await export_plan(database, "p")).daily_budget == from_usd("3")


async def test_an_unknown_plan_has_no_budget(database: Database) -> None:
    for change in (set_budget, set_daily_budget):
        with pytest.raises(UnknownPlan):
            await change(database, "nowhere", 1)
