"""How much of a budget an attempt may take. Amounts are micro-dollars; None is: no limit."""

from dataclasses import dataclass

from whilly.core.money import MICROS_PER_USD, Micros

DEFAULT_ESTIMATE: Micros = MICROS_PER_USD // 2
"""What an attempt is expected to cost while nothing better is known: half a dollar, the order of magnitude of a short
coding run at the list prices of 2026. A task's own budget replaces it."""

WARNING_PCT, EXCEEDED_PCT = 80, 100
"""Shares of a budget that are told when they are reached."""


@dataclass(frozen=True, slots=True)
class Purse:
    """What a plan may spend in all and per day (UTC), and what of it is gone."""

    budget: Micros | None
    spent: Micros
    reserved: Micros
    """By running attempts; counted against the day as well, on which they will probably end."""
    daily_budget: Micros | None = None
    spent_today: Micros = 0

    @property
    def limited(self) -> bool:
        """Whether there is a budget of either kind."""
        return self.budget is not None or self.daily_budget is not None

    @property
    def left(self) -> Micros | None:
        """What can still be reserved; 0 when nothing can."""
        left = [budget - spent - self.reserved for budget, spent in self._caps if budget is not None]
        return max(min(left), 0) if left else None

    @property
    def overdrawn(self) -> Micros:
        """By how much more is spent and reserved than may be: a budget was lowered, or an attempt cost more."""
        return max((spent + self.reserved - budget for budget, spent in self._caps if budget is not None), default=0)

    @property
    def _caps(self) -> tuple[tuple[Micros | None, Micros], ...]:
        return (self.budget, self.spent), (self.daily_budget, self.spent_today)


def reached(budget: Micros | None, spent: Micros) -> frozenset[int]:
    """Which of the told shares of a budget are spent. Nothing spent is no share, also of a budget of 0."""
    if budget is None or spent <= 0:
        return frozenset()
    return frozenset(share for share in (WARNING_PCT, EXCEEDED_PCT) if spent * 100 >= budget * share)


def reservation(left_in_plan: Micros | None, task_budget: Micros | None, task_spent: Micros) -> Micros | None:
    """What a claim reserves: the task's remaining cap or the estimate, never more than the plan has left.

    None when nothing is left to spend, so the task must not be claimed. With 2.00 left, 16 claims of 0.50 at once
    get four reservations.
    """
    wanted = DEFAULT_ESTIMATE if task_budget is None else task_budget - task_spent
    if left_in_plan is not None:
        wanted = min(wanted, left_in_plan)
    return wanted if wanted > 0 else None


def limit(limited: bool, task_budget: Micros | None, reserved: Micros, *, overdrawn: Micros = 0) -> Micros | None:
    """The most an attempt may spend now: its reservation, wherever a budget exists at all (`limited`: of the plan).

    Where a plan is overdrawn, each running attempt gives up the whole difference, so that together they stay within
    the budget whoever spends first.
    """
    if not limited and task_budget is None:
        return None
    return max(reserved - max(overdrawn, 0), 0)


def top_up(reserved: Micros, used: Micros, left_in_plan: Micros, task_left: Micros | None) -> Micros:
    """How much more to reserve for an attempt that has used more than half of its reservation; 0 for nothing."""
    if used * 2 <= reserved:
        return 0
    more = min(DEFAULT_ESTIMATE, left_in_plan)
    if task_left is not None:
        more = min(more, task_left - reserved)
    return max(more, 0)


def counted(cost: Micros | None, reserved: Micros, *, started: bool) -> Micros:
    """What an ended attempt is charged: its cost, or its reservation when that is unknown and the agent had started."""
    if cost is not None:
        return cost
    return reserved if started else 0
