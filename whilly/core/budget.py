"""How much of a budget an attempt may take. Amounts are micro-dollars; None is: no limit."""

from whilly.core.money import MICROS_PER_USD, Micros

DEFAULT_ESTIMATE: Micros = MICROS_PER_USD // 2
"""What an attempt is expected to cost while nothing better is known: half a dollar, the order of magnitude of a short
coding run at the list prices of 2026. A task's own budget replaces it."""


def available(budget: Micros | None, spent: Micros, reserved: Micros) -> Micros | None:
    """What is left to reserve; 0 when nothing is."""
    return None if budget is None else max(budget - spent - reserved, 0)


def reservation(left_in_plan: Micros | None, task_budget: Micros | None, task_spent: Micros) -> Micros | None:
    """What a claim reserves: the task's remaining cap or the estimate, never more than the plan has left.

    None when nothing is left to spend, so the task must not be claimed. With 2.00 left, 16 claims of 0.50 at once
    get four reservations.
    """
    wanted = DEFAULT_ESTIMATE if task_budget is None else task_budget - task_spent
    if left_in_plan is not None:
        wanted = min(wanted, left_in_plan)
    return wanted if wanted > 0 else None


def limit(
    plan_budget: Micros | None, task_budget: Micros | None, reserved: Micros, *, promised: Micros = 0
) -> Micros | None:
    """The most an attempt may spend now: its reservation, wherever a budget exists at all.

    `promised` is what the plan has spent and reserved in all. Where a budget was lowered below that, each running
    attempt gives up the whole difference, so that together they stay within it whoever spends first.
    """
    if plan_budget is None and task_budget is None:
        return None
    overdrawn = 0 if plan_budget is None else max(promised - plan_budget, 0)
    return max(reserved - overdrawn, 0)


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
