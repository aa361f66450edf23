"""Anything that people, workers and time can do to a plan, in any order, against real Postgres."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.builders import COMMIT, a_check, a_plan, a_report, a_request, a_result, a_task
from tests.model.search import first_surprise
from whilly.core.assignment import Assignment
from whilly.core.errors import WhillyError
from whilly.core.evidence import Report, Usage
from whilly.core.outcome import Outcome
from whilly.core.plan import Review, Status
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.finish_attempts import finish_attempts, release_attempt
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause, resume
from whilly.operations.renew_leases import renew_leases
from whilly.operations.reset_plan import reset_plan
from whilly.operations.review_task import DECISIONS, review_task
from whilly.operations.sequence_events import sequence_events
from whilly.operations.set_budget import set_budget, set_daily_budget
from whilly.operations.start_attempts import start_attempts
from whilly.operations.steer_task import cancel_task, retry_task, skip_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.store.database import Database
from whilly.wire.work import FinishAnswer, Heartbeat, Release, Start

Result = TypeVar("Result")
LEASE = timedelta(seconds=60)
NAMES = ("A", "B", "C", "D", "E")
FILES = ("x.py", "lib", "lib/y.py")
_plans = itertools.count(1)

names = st.sampled_from(NAMES)
outcomes = st.sampled_from([o for o in Outcome if o is not Outcome.RELEASED])
costs = st.none() | st.integers(0, 400_000)
budgets = st.none() | st.integers(0, 2_000_000)


class QueueMachine(RuleBasedStateMachine):
    """Drives one plan of five tasks; `held` are the attempts that some worker believes to have, dead ones included."""

    def __init__(self, run: Callable[[Awaitable[Any]], Any], database: Database) -> None:
        super().__init__()
        self.run = run
        self.database = database
        self.plan = f"plan-{next(_plans)}"
        self.held: list[Assignment] = []
        self.reports: dict[tuple[str, int], Report] = {}
        self.accepted: dict[str, list[int]] = {}
        self.reached: dict[str, bool] = {}
        self.told: dict[str, int] = {}

    def attempt(self, work: Awaitable[Result]) -> Result | None:
        """The result, or None where the rules refuse."""
        try:
            return self.run(work)  # type: ignore[no-any-return]
        except WhillyError:
            return None

    @initialize(data=st.data(), budget=budgets, daily=budgets)
    def a_plan_comes_in(self, data: st.DataObject, budget: int | None, daily: int | None) -> None:
        tasks = []
        for place, name in enumerate(NAMES):
            needs = tuple(sorted(data.draw(st.sets(st.sampled_from(NAMES[:place]))))) if place else ()
            files = tuple(sorted(data.draw(st.sets(st.sampled_from(FILES)))))
            review = data.draw(st.sampled_from(Review))
            status = data.draw(st.sampled_from([Status.PENDING] * 5 + [Status.DONE, Status.FAILED, Status.SKIPPED]))
            tasks.append(a_task(name, needs, key_files=files, review=review, status=status))
        self.run(
            import_plan(
                self.database, a_plan(*tasks, plan=self.plan, budget=budget, daily_budget=daily, checks=(a_check(),))
            )
        )

    @rule(count=st.integers(1, 3))
    def workers_claim(self, count: int) -> None:
        before = self.money()
        asks = [(f"w{number}", a_request(self.plan)) for number in range(count)]
        found = [one for one in self.run(claim_tasks(self.database, asks, LEASE)) if one]
        self.held += found
        after = self.money()
        if found and before["budget_micros"] is not None:
            assert after["spent_micros"] + after["reserved_micros"] <= before["budget_micros"]
        if found and before["daily_budget_micros"] is not None:
            assert after["spent_today"] + after["reserved_micros"] <= before["daily_budget_micros"]
        again = self.run(claim_tasks(self.database, asks, LEASE))
        assert [one.key for one in again if one][: len(found)] == [one.key for one in found][: len(again)]
        self.held += [one for one in again if one and one.key not in {held.key for held in self.held}]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def a_worker_starts(self, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(self.held))
        self.run(start_attempts(self.database, [(attempt.key, Start("scripted", base_commit=COMMIT))]))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), cost=costs)
    def a_worker_gives_a_sign_of_life(self, data: st.DataObject, cost: int | None) -> None:
        attempt = data.draw(st.sampled_from(self.held))
        self.run(renew_leases(self.database, [(attempt.key, Heartbeat("agent", usage=Usage(cost)))], LEASE))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), outcome=outcomes | st.just(Outcome.COMPLETED), passed=st.booleans(), cost=costs)
    def a_worker_reports(self, data: st.DataObject, outcome: Outcome, passed: bool, cost: int | None) -> None:
        attempt = data.draw(st.sampled_from(self.held))
        report = a_report(outcome, cost=cost, checks=(a_result(passed=passed),))
        self.deliver(attempt, report)

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def a_worker_reports_again(self, data: st.DataObject) -> None:
        task, epoch = data.draw(st.sampled_from(sorted(self.reports)))
        attempt = next(held for held in self.held if (held.spec.id, held.epoch) == (task, epoch))
        self.deliver(attempt, self.reports[task, epoch])

    def deliver(self, attempt: Assignment, report: Report) -> None:
        before = self.task(attempt.spec.id)
        (answer,) = self.run(finish_attempts(self.database, [(attempt.key, report)]))
        if not isinstance(answer, FinishAnswer):
            assert self.task(attempt.spec.id)["status"] == before["status"]
            return
        self.reports.setdefault((attempt.spec.id, attempt.epoch), report)
        if before["claim_id"] is None or before["epoch"] != attempt.epoch:
            assert self.task(attempt.spec.id)["version"] == before["version"]
        elif answer.status is Status.DONE:
            self.accepted.setdefault(attempt.spec.id, []).append(attempt.epoch)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def a_worker_gives_back(self, data: st.DataObject) -> None:
        self.attempt(release_attempt(self.database, data.draw(st.sampled_from(self.held)).key, Release("shutdown")))

    @rule(names=st.sets(names))
    def leases_run_out(self, names: set[str]) -> None:
        expire = (
            "update tasks set lease_until = clock_timestamp() - interval '1 s' "
            "where plan_id = $1 and id = any($2) and claim_id is not null"
        )
        self.run(self.execute(expire, self.plan, sorted(names)))
        self.run(sweep_leases(self.database))

    @rule()
    def time_passes(self) -> None:
        self.run(self.execute("update tasks set parked_until = null where plan_id = $1", self.plan))

    @rule(name=names, steer=st.sampled_from([cancel_task, retry_task, skip_task]))
    def a_person_steers(self, name: str, steer: Callable[..., Awaitable[Status]]) -> None:
        self.attempt(steer(self.database, self.plan, name, "ada"))

    @rule(name=names, decision=st.sampled_from(DECISIONS))
    def a_person_decides(self, name: str, decision: str) -> None:
        self.attempt(review_task(self.database, self.plan, name, decision, "ada", "Because."))

    @rule()
    def a_person_resets(self) -> None:
        self.attempt(reset_plan(self.database, self.plan, hard=False))

    @rule(budget=budgets, change=st.sampled_from([set_budget, set_daily_budget]))
    def a_person_sets_the_budget(self, budget: int | None, change: Callable[..., Awaitable[None]]) -> None:
        self.run(change(self.database, self.plan, budget))

    @rule()
    def midnight_passes(self) -> None:
        self.run(self.execute("update plans set day = day - 1 where id = $1", self.plan))

    @rule(paused=st.booleans())
    def a_person_pauses_or_resumes(self, paused: bool) -> None:
        if paused:
            self.run(pause(self.database, self.plan, "", "ada"))
            (found,) = self.run(claim_tasks(self.database, [("w", a_request(self.plan))], LEASE))
            assert found is None
        asks = self.money()["asks_about_budget"]
        self.attempt(resume(self.database, self.plan, "ada"))
        assert (self.money()["paused_reason"] is not None) is asks

    @invariant()
    def the_books_balance(self) -> None:
        for name, truth in TRUTHS.items():
            broken = self.run(self.rows(truth, self.plan))
            assert not broken, f"{name}: {[dict(row) for row in broken]}"

    @invariant()
    def what_a_budget_reaches_is_told_once_each_time(self) -> None:
        money = self.money()
        spent, budget = money["spent_micros"], money["budget_micros"]
        for share, kind in ((80, "plan.budget_warning"), (100, "plan.budget_exceeded")):
            reached = budget is not None and spent > 0 and spent * 100 >= budget * share
            told = self.run(self.rows("select from events where plan_id = $1 and type = $2", self.plan, kind))
            if reached and not self.reached.get(kind):
                assert len(told) == self.told.get(kind, 0) + 1, kind
            elif self.told.get(kind, 0) != len(told):
                raise AssertionError(f"{kind} was told without a crossing")
            self.reached[kind], self.told[kind] = reached, len(told)

    @invariant()
    def a_plan_that_asks_has_no_money(self) -> None:
        money = self.money()
        if money["asks_about_budget"]:
            assert money["spent_micros"] >= money["budget_micros"]

    @invariant()
    def no_result_is_accepted_twice(self) -> None:
        for task, epochs in self.accepted.items():
            assert len(epochs) == len(set(epochs)), f"{task} was accepted twice for one attempt: {epochs}"

    def teardown(self) -> None:
        while self.run(sequence_events(self.database)):
            pass
        for name in NAMES:
            told = self.run(self.rows(TOLD, self.plan, name))
            surprise = first_surprise(row["type"] for row in told)
            assert not surprise, f"{name}: the model knows no way to {surprise}"

    def money(self) -> Any:
        return self.run(self.rows("select *, spent_today(p) from plans p where id = $1", self.plan))[0]

    def task(self, name: str) -> Any:
        return self.run(self.rows("select * from tasks where plan_id = $1 and id = $2", self.plan, name))[0]

    async def rows(self, sql: str, *arguments: object) -> list[Any]:
        async with self.database.connection() as connection:
            return list(await connection.fetch(sql, *arguments))

    async def execute(self, sql: str, *arguments: object) -> None:
        async with self.database.connection() as connection:
            await connection.execute(sql, *arguments)


TOLD = """
select type from events where plan_id = $1 and task_id = $2 and type not in ('task.created', 'repair.attempt.requested',
    'repair.escalated') order by id"""
"""What happened to a task, in order, without what only comments on it."""

TRUTHS = {
    "unmet counts the prerequisites that are not DONE": """
        select t.id, t.unmet from tasks t where t.plan_id = $1 and t.unmet <> (
            select count(*) from dependencies d join tasks n on n.plan_id = d.plan_id and n.id = d.needs
            where d.plan_id = t.plan_id and d.task_id = t.id and n.status <> 'DONE'
        )""",
    "no task waits for a prerequisite that ended without a result": """
        select t.id, n.id as needs, n.status from tasks t
        join dependencies d on d.plan_id = t.plan_id and d.task_id = t.id
        join tasks n on n.plan_id = d.plan_id and n.id = d.needs
        where t.plan_id = $1 and t.status in ('PENDING', 'CLAIMED', 'IN_PROGRESS')
            and n.status in ('FAILED', 'SKIPPED')""",
    "a task blocked by a prerequisite has one that ended without a result": """
        select t.id, t.blocked_by, n.status from tasks t
        left join tasks n on n.plan_id = t.plan_id and n.id = t.blocked_by
        where t.plan_id = $1 and t.blocked_by <> '' and (
            t.status <> 'BLOCKED' or n.status not in ('FAILED', 'SKIPPED')
        )""",
    "running tasks hold their key files, and nobody else does": """
        (select t.id, f as path from tasks t, unnest(t.key_files) f where t.plan_id = $1 and t.claim_id is not null
            except select task_id, path from held_files where plan_id = $1)
        union all
        (select task_id, path from held_files where plan_id = $1 except
            select t.id, f from tasks t, unnest(t.key_files) f where t.plan_id = $1 and t.claim_id is not null)""",
    "each epoch has its attempt, and only running tasks an open one": """
        select t.id, t.epoch from tasks t where t.plan_id = $1 and (
            t.epoch - t.first_epoch <> (
                select count(*) from attempts a where a.plan_id = t.plan_id and a.task_id = t.id
            )
            or (t.claim_id is not null) <> exists (
                select from attempts a
                where a.plan_id = t.plan_id and a.task_id = t.id and a.epoch = t.epoch and a.ended_at is null
            )
            or exists (
                select from attempts a
                where a.plan_id = t.plan_id and a.task_id = t.id and a.epoch < t.epoch and a.ended_at is null
            )
        )""",
    "a plan's reservations are those of its running tasks": """
        select p.id, p.reserved_micros from plans p
        where p.id = $1 and coalesce(p.budget_micros, p.daily_budget_micros) is not null
            and p.reserved_micros <> (
                select coalesce(sum(reserved_micros), 0) from tasks t where t.plan_id = p.id
            )""",
    "what was spent is what the attempts were charged": """
        select p.id, p.spent_micros from plans p where p.id = $1 and (
            p.spent_micros <> (select coalesce(sum(counted_micros), 0) from attempts a where a.plan_id = p.id)
            or p.spent_micros <> (select coalesce(sum(spent_micros), 0) from tasks t where t.plan_id = p.id)
        )""",
    "a finished task that was worked on has a result": """
        select id from tasks where plan_id = $1 and status = 'DONE' and epoch > 0 and version > 0
            and result_commit = ''""",
    "a task that may start and asks first waits for its answer": """
        select id from tasks where plan_id = $1 and status = 'PENDING' and unmet = 0 and review = 'before'
            and not approved""",
    "claims are accounted for by their ends": """
        select t.id from tasks t where t.plan_id = $1 and (
            select count(*) from events e where e.plan_id = t.plan_id and e.task_id = t.id and e.type = 'CLAIM'
        ) <> t.epoch""",
}
"""Sentences about a plan that always hold, each with the query that finds what breaks it."""


def test_whatever_happens_the_books_balance(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = runner.run(Database.open(database_url))
        try:
            run_state_machine_as_test(
                lambda: QueueMachine(runner.run, database),  # type: ignore[arg-type]
                settings=settings(
                    max_examples=60,
                    stateful_step_count=40,
                    deadline=None,
                    phases=[Phase.explicit, Phase.reuse, Phase.generate],
                    report_multiple_bugs=False,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(database.close())
