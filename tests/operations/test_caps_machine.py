"""Agents that spend, people who change budgets and days that pass, in any order: no cap is exceeded by more than what
was in flight when it was reached."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

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

from tests.builders import a_plan, a_report, a_request, a_task
from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.evidence import Usage
from whilly.core.outcome import Outcome
from whilly.operations.claim_tasks import claim_tasks
from whilly.operations.finish_attempts import finish_attempts
from whilly.operations.import_plan import import_plan
from whilly.operations.renew_leases import renew_leases
from whilly.operations.set_budget import set_budget, set_daily_budget
from whilly.operations.start_attempts import start_attempts
from whilly.operations.steer_task import retry_task
from whilly.store.database import Database
from whilly.wire.work import Heartbeat, HeartbeatAnswer, Start

LEASE = timedelta(seconds=60)
TASKS = tuple(f"T{number}" for number in range(6))
_plans = itertools.count(1)

budgets = st.integers(0, 3_000_000)
steps = st.integers(1, 400_000)


class CapsMachine(RuleBasedStateMachine):
    """One plan. An agent hears its limit, spends a step, and is stopped when it has reached the limit."""

    def __init__(self, run: Callable[[Awaitable[Any]], Any], database: Database) -> None:
        super().__init__()
        self.run = run
        self.database = database
        self.plan = f"plan-{next(_plans)}"
        self.running: dict[AttemptKey, Assignment] = {}
        self.used: dict[AttemptKey, int] = {}
        self.budget = self.daily = 0
        self.spent = self.today = 0
        self.most = self.most_today = 0
        """What may be spent: the caps, what was spent already when they were set, and what was in flight since."""

    @initialize(budget=budgets, daily=budgets, own=st.lists(st.none() | budgets, min_size=6, max_size=6))
    def a_plan_comes_in(self, budget: int, daily: int, own: list[int | None]) -> None:
        tasks = (a_task(name, budget=cap) for name, cap in zip(TASKS, own, strict=True))
        self.run(import_plan(self.database, a_plan(*tasks, plan=self.plan, budget=budget, daily_budget=daily)))
        self.budget, self.daily = budget, daily
        self.most, self.most_today = budget, daily

    @rule(count=st.integers(1, 4))
    def workers_claim(self, count: int) -> None:
        asks = [(f"w{number}", a_request(self.plan)) for number in range(count)]
        for found in self.run(claim_tasks(self.database, asks, LEASE)):
            if found:
                self.run(start_attempts(self.database, [(found.key, Start("scripted"))]))
                self.running[found.key], self.used[found.key] = found, 0

    @precondition(lambda self: self.running)
    @rule(data=st.data(), step=steps)
    def an_agent_spends(self, data: st.DataObject, step: int) -> None:
        key = data.draw(st.sampled_from(sorted(self.running, key=str)))
        limit = self.limit_of(key)
        if self.used[key] < limit:
            self.used[key] += step
            self.spent += step
            self.today += step
            in_flight = max(self.used[key] - max(limit, self.limit_of(key)), 0)
            self.most += in_flight
            self.most_today += in_flight
        if self.used[key] >= self.limit_of(key):
            self.end(key, Outcome.OVER_BUDGET)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), outcome=st.sampled_from([Outcome.COMPLETED, Outcome.INCOMPLETE, Outcome.CHECKS_FAILED]))
    def an_agent_ends(self, data: st.DataObject, outcome: Outcome) -> None:
        self.end(data.draw(st.sampled_from(sorted(self.running, key=str))), outcome)

    @rule(budget=budgets)
    def the_budget_is_set(self, budget: int) -> None:
        self.run(set_budget(self.database, self.plan, budget))
        self.budget = budget
        self.most = max(budget, self.spent)

    @rule(budget=budgets)
    def the_daily_budget_is_set(self, budget: int) -> None:
        self.run(set_daily_budget(self.database, self.plan, budget))
        self.daily = budget
        self.most_today = max(budget, self.today)

    @precondition(lambda self: not self.running)
    @rule()
    def midnight_passes(self) -> None:
        self.run(self.execute("update plans set day = day - 1 where id = $1", self.plan))
        self.today, self.most_today = 0, self.daily

    @rule(name=st.sampled_from(TASKS))
    def a_person_retries(self, name: str) -> None:
        rows = self.run(self.rows("select status from tasks where plan_id = $1 and id = $2", self.plan, name))
        if rows[0]["status"] in ("FAILED", "BLOCKED"):
            self.run(retry_task(self.database, self.plan, name, "ada"))

    @invariant()
    def no_cap_is_exceeded(self) -> None:
        assert self.spent <= self.most
        assert self.today <= self.most_today

    @invariant()
    def what_is_booked_is_what_was_spent(self) -> None:
        (row,) = self.run(self.rows("select *, spent_today(p) from plans p where id = $1", self.plan)) or (None,)
        if row is not None:
            flying = sum(self.used[key] for key in self.running)
            assert (row["spent_micros"] + flying, row["spent_today"] + flying) == (self.spent, self.today)

    def limit_of(self, key: AttemptKey) -> int:
        """What the control plane says now, having heard what was used."""
        beat = Heartbeat("agent", usage=Usage(self.used[key]))
        (answer,) = self.run(renew_leases(self.database, [(key, beat)], LEASE))
        assert isinstance(answer, HeartbeatAnswer)
        assert answer.limit is not None
        return answer.limit

    def end(self, key: AttemptKey, outcome: Outcome) -> None:
        report = a_report(outcome, cost=self.used[key])
        (answer,) = self.run(finish_attempts(self.database, [(key, report)]))
        assert not isinstance(answer, Exception)
        del self.running[key]
        if outcome is Outcome.INCOMPLETE:
            self.run(self.execute("update tasks set parked_until = null where plan_id = $1", self.plan))

    async def rows(self, sql: str, *arguments: object) -> list[Any]:
        async with self.database.connection() as connection:
            return list(await connection.fetch(sql, *arguments))

    async def execute(self, sql: str, *arguments: object) -> None:
        async with self.database.connection() as connection:
            await connection.execute(sql, *arguments)


def test_no_order_of_events_exceeds_a_cap_by_more_than_what_is_in_flight(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = runner.run(Database.open(database_url))
        try:
            run_state_machine_as_test(
                lambda: CapsMachine(runner.run, database),  # type: ignore[arg-type]
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
