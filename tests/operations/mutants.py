"""Guards of the queue, and the test that fails when one is taken away. A guard without such a test is a rumour."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from tests.operations import test_budgets as budgets
from tests.operations import test_claim_tasks as claims
from tests.operations import test_count_events as counts
from tests.operations import test_finish_attempts as finishes
from tests.operations import test_leases as leases
from tests.operations import test_log as logs
from tests.operations import test_same_moment as moments
from tests.operations import test_steering as steering
from whilly.core import budget, lifecycle, verdict
from whilly.operations import (
    claim_tasks,
    finish_attempts,
    release_dependants,
    set_budget,
    start_attempts,
    tell_of_spending,
)
from whilly.store.database import Database


@dataclass(frozen=True)
class Mutant:
    """A guard in a statement (by its name) or in a function, and what stands there without it."""

    where: str | Callable[..., object]
    guard: str
    without: str
    killed_by: Callable[[Database], Awaitable[None]]


FENCES = {
    "heartbeats without the epoch": Mutant(
        "renew_leases", "and t.epoch = a.epoch", "", leases.test_nothing_of_an_old_attempt_reaches_the_new_one
    ),
    "starts without the epoch": Mutant(
        start_attempts._start,
        "or task.epoch != key.epoch",
        "",
        leases.test_nothing_of_an_old_attempt_reaches_the_new_one,
    ),
    "events without the epoch": Mutant(
        "count_events_told",
        "and t.epoch = $3",
        "and t.epoch >= $3",
        leases.test_nothing_of_an_old_attempt_reaches_the_new_one,
    ),
    "reports without the epoch": Mutant(
        finish_attempts._finish_all,
        'row["claim_id"] is not None and row["epoch"] == key.epoch',
        'row["claim_id"] is not None',
        leases.test_nothing_of_an_old_attempt_reaches_the_new_one,
    ),
    "reports that do not look whether the attempt still runs": Mutant(
        finish_attempts._finish_all,
        'row["claim_id"] is not None and row["epoch"] == key.epoch',
        'row["epoch"] == key.epoch',
        leases.test_a_silent_worker_loses_its_task_and_another_gets_it,
    ),
    "reports that believe what they read before they had the lock": Mutant(
        finish_attempts._finish_all,
        '        rows = await tx.fetch("lock_attempts", *columns)\n    found',
        "        pass\n    found",
        moments.test_a_report_that_two_servers_take_at_once_gets_one_answer,
    ),
    "a claim that does not raise the epoch": Mutant(
        lifecycle._claimed,
        "epoch=task.epoch + 1",
        "epoch=task.epoch or 1",
        leases.test_a_task_that_kills_its_workers_ends_failed,
    ),
    "attempts that are not counted at the claim": Mutant(
        lifecycle._claimed,
        "attempts=task.attempts + 1",
        "attempts=task.attempts",
        leases.test_a_task_that_kills_its_workers_ends_failed,
    ),
}

SWEEP = {
    "a sweep that does not look at the lease": Mutant(
        "expired_attempts", "and lease_until < clock_timestamp()", "", leases.test_a_living_lease_is_not_swept
    ),
    "a sweep that reads first and writes later": Mutant(
        "expired_attempts", "for update skip locked", "", moments.test_a_lease_renewed_while_it_is_swept_is_kept
    ),
    "leases from the start of the transaction": Mutant(
        "renew_leases",
        "clock_timestamp() + make_interval",
        "now() + make_interval",
        moments.test_a_lease_counts_from_when_it_is_written,
    ),
    "a sweep that tries a cancelled task again": Mutant(
        verdict.judge,
        "task.cancel_requested and",
        "False and",
        moments.test_a_task_cancelled_while_it_is_swept_is_not_tried_again,
    ),
}

CLAIMS = {
    "candidates that are not locked": Mutant(
        "next_ready_tasks", "for update of t skip locked", "", claims.test_each_task_goes_to_one_of_many
    ),
    "candidates that are waited for": Mutant(
        "next_ready_tasks", "skip locked\n", "\n", moments.test_a_claim_waits_for_nobody
    ),
    "candidates read again after they were locked": Mutant(
        "next_ready_tasks",
        "select * from candidate",
        "select t.* from candidate c join tasks t on t.plan_id = c.plan_id and t.id = c.id",
        moments.test_a_claim_sees_the_task_that_it_locked,
    ),
    "prerequisites that do not count": Mutant(
        "next_ready_tasks", "and t.unmet = 0", "", claims.test_a_task_waits_for_all_its_prerequisites
    ),
    "a pause that does not count": Mutant(
        "next_ready_tasks",
        "p.paused_reason is null",
        "true",
        partial(claims.test_nothing_is_handed_out_while_paused, scope="p"),
    ),
    "a wait that does not count": Mutant(
        "next_ready_tasks",
        "t.parked_until <= clock_timestamp()",
        "true",
        claims.test_a_parked_task_is_passed_over_until_its_time,
    ),
    "a repeated claim that is a new one": Mutant(
        "next_ready_tasks",
        "where claim_id = any($4::text[])",
        "where claim_id = any($4::text[]) and false",
        claims.test_a_claim_asked_again_gets_the_same_answer,
    ),
    "a file for two": Mutant(
        claim_tasks._with_free_files,
        'if row["key_files"] and counts',
        "if False and counts",
        moments.test_two_claims_that_both_saw_a_file_free_do_not_both_get_it,
    ),
    "files that are never freed": Mutant(
        "release_files",
        "where h.plan_id",
        "where false and h.plan_id",
        finishes.test_key_files_are_free_after_the_attempt,
    ),
}

MONEY = {
    "a budget that is read without a lock": Mutant(
        "lock_plan_budget", "for update", "", claims.test_a_budget_grants_no_more_than_it_holds
    ),
    "a budget that is only checked at the claim": Mutant(
        claim_tasks._grant, "reserved_in_plan += wanted", "pass", claims.test_a_budget_grants_no_more_than_it_holds
    ),
    "a reservation that ends with nothing": Mutant(
        "settle_budgets",
        "b.reserved_micros - b.freed",
        "b.reserved_micros",
        finishes.test_an_agent_that_never_started_is_not_charged,
    ),
    "an unknown cost that is none": Mutant(
        budget.counted,
        "return reserved if started else 0",
        "return 0",
        finishes.test_an_unknown_cost_counts_as_its_reservation,
    ),
    "a late bill that is thrown away": Mutant(
        finish_attempts._finish_all,
        "if isinstance(answers[key], LeaseLost):",
        "if False:",
        leases.test_money_spent_by_a_lost_worker_is_booked_when_it_turns_up,
    ),
    "a first budget that misses a claim": Mutant(
        claim_tasks._grant,
        'begun[0]["budgeted"]',
        "False",
        partial(moments.test_a_first_budget_counts_what_is_just_being_claimed_or_ended, end=None),
    ),
    "a first budget that misses an end": Mutant(
        "close_attempts",
        "select coalesce(p.budget_micros, p.daily_budget_micros) is not null from",
        "select false from",
        partial(moments.test_a_first_budget_counts_what_is_just_being_claimed_or_ended, end=0),
    ),
    "a first budget that does not wait": Mutant(
        set_budget._set,
        'await tx.execute("lock_unfinished_tasks", plan)',
        "pass",
        moments.test_a_first_budget_waits_for_a_claim_that_has_its_task,
    ),
    "a crossing that is told with every bill": Mutant(
        tell_of_spending.tell_of_settlement,
        '- reached(row["budget_micros"], row["spent_before"])',
        "",
        budgets.test_many_workers_that_cross_at_once_cross_once,
    ),
    "bills that are compared without the lock": Mutant(
        "settle_budgets", "for update of p", "", budgets.test_many_workers_that_cross_at_once_cross_once
    ),
    "a day that begins with yesterday's bills": Mutant(
        "settle_budgets",
        "greatest(b.spent_today_micros + b.cost, 0)",
        "greatest(b.day_spent_micros + b.cost, 0)",
        budgets.test_a_day_has_its_own_budget,
    ),
    "a plan that asks although a person paused it": Mutant(
        "ask_about_budget",
        "and p.paused_reason is null",
        "",
        budgets.test_a_persons_pause_stays_theirs,
    ),
    "a finished plan that asks": Mutant(
        "ask_about_budget",
        "'PENDING', 'CLAIMED', 'IN_PROGRESS'",
        "'PENDING', 'CLAIMED', 'IN_PROGRESS', 'DONE'",
        budgets.test_a_finished_plan_asks_nothing,
    ),
    "a plan that goes on without money": Mutant(
        set_budget.book_budgets,
        "EXCEEDED_PCT not in _shares(now) and",
        "",
        budgets.test_a_plan_without_money_asks_and_goes_on_when_it_is_raised,
    ),
    "a pause that outlives its answer": Mutant(
        set_budget.book_budgets,
        'await tx.fetch("answer_about_budget", plan)',
        "False",
        budgets.test_a_plan_without_money_asks_and_goes_on_when_it_is_raised,
    ),
    "an attempt that is blocked by the plan's budget": Mutant(
        verdict._follow,
        "if _spent_up(task, budget):\n                return Blocked(reason, outcome=outcome)",
        "if True:\n                return Blocked(reason, outcome=outcome)",
        budgets.test_an_attempt_that_the_plans_budget_stopped_goes_on_from_its_work,
    ),
    "events that are counted by two": Mutant(
        "take_uncounted_events",
        "for update skip locked",
        "",
        counts.test_events_are_counted_once_by_many,
    ),
}

DEPENDANTS = {
    "dependants that are not locked": Mutant(
        "lock_dependants", "for update of t", "", finishes.test_two_last_prerequisites_in_the_same_moment_release_once
    ),
    "dependants that are counted from what they were": Mutant(
        release_dependants.release_dependants,
        "dependants.get(key) or task_from(row)",
        "task_from(row)",
        moments.test_the_last_two_prerequisites_in_one_batch_release_once,
    ),
    "a retry that passes over a failed prerequisite": Mutant(
        "ended_prerequisites",
        "t.status in ('FAILED', 'SKIPPED')",
        "false",
        steering.test_retrying_a_blocked_task_does_not_pass_over_its_prerequisite,
    ),
}

LOG = {
    "a log that is read by identity": Mutant(
        "events_after", "l.position > $1", "e.id > $1", logs.test_events_that_commit_late_are_not_passed_over
    ),
    "events that a worker repeats": Mutant(
        "count_events_told",
        "greatest(a.events_told, $4)",
        "least(a.events_told, $4)",
        logs.test_an_event_repeated_by_its_worker_is_stored_once,
    ),
    "a chain without links": Mutant(
        "end_of_log",
        "select hash from event_log",
        "select '\\x'::bytea from event_log",
        logs.test_positions_are_consecutive_and_the_chain_holds,
    ),
}

MUTANTS = {**FENCES, **SWEEP, **CLAIMS, **MONEY, **DEPENDANTS, **LOG}
