"""Why a task is where it is, and what would change it: one sentence, the same in CLI, page and API."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from whilly.core.capabilities import Offer, Wants, what_nobody_has
from whilly.core.duration import in_words, until
from whilly.core.money import Micros, shown
from whilly.core.names import is_bundled
from whilly.core.plan import Review, Status
from whilly.core.task import Task
from whilly.core.terminal import one_line

LONGEST_REASON = 300
SILENT_SECONDS = 40
"""Without a sign of life for so long a worker may be gone; its lease decides (heartbeats come every 15 s)."""


class Code(StrEnum):
    """Every situation that a task can be in."""

    READY = "ready"
    WAITING = "waiting"
    REVIEW_BEFORE_DUE = "review_before_due"
    PARKED = "parked"
    SYSTEM_PAUSED = "system_paused"
    PLAN_PAUSED = "plan_paused"
    OVER_BUDGET = "over_budget"
    OVER_DAILY_BUDGET = "over_daily_budget"
    BUDGET_RESERVED = "budget_reserved"
    TASK_OVER_BUDGET = "task_over_budget"
    FILE_HELD = "file_held"
    NO_WORKER = "no_worker"
    NO_AGENT = "no_agent"
    NO_CAPABLE_WORKER = "no_capable_worker"
    WORKERS_HOLD = "workers_hold"
    PREPARING = "preparing"
    RUNNING = "running"
    CHECKING = "checking"
    REPORTING = "reporting"
    SILENT = "silent"
    CANCELLING = "cancelling"
    REVIEW_BEFORE = "review_before"
    REVIEW_RESULT = "review_result"
    PREREQUISITE_FAILED = "prerequisite_failed"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prerequisite that is not DONE."""

    task: str
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A key file that a running task holds."""

    path: str
    plan: str
    task: str


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What there is to know about a task at one moment."""

    task: Task
    now: datetime
    """By the database's clock."""
    waiting_for: tuple[Waiting, ...] = ()
    plan_paused: str | None = None
    """The reason; None when the plan is not paused."""
    system_paused: str | None = None
    budget: Micros | None = None
    """The plan's; None: no limit."""
    spent: Micros = 0
    reserved: Micros = 0
    daily_budget: Micros | None = None
    spent_today: Micros = 0
    asks_about_budget: bool = False
    """The plan is paused because its budget is used up."""
    held_files: tuple[HeldFile, ...] = ()
    phase: str = ""
    last_seen_seconds: float | None = None
    workers_online: int = 0
    task_budget: Micros | None = None
    wants: Wants = Wants()
    """What the task asks of its worker."""
    offers: tuple[Offer, ...] | None = None
    """What the workers that are online offer; None: not known."""
    workers_hold: str = ""
    """Why each of the workers that are online takes no tasks now; empty: some do."""
    elsewhere: bool = False
    """It belongs to a repo target: its result is not in the repository of `whilly run --repo`."""


@dataclass(frozen=True, slots=True)
class Why:
    """The answer."""

    code: Code
    sentence: str
    remedy: str
    """What a person can do; empty when nothing has to be done."""


def explain(facts: TaskFacts) -> Why:
    """Why the task is where it is. A pending task that several things hold back gets all of them, the nearest first."""
    return _BY_STATUS[facts.task.status](facts)


def _pending(facts: TaskFacts) -> Why:
    first, *others = _obstacles(facts)
    if not others or first.code is Code.READY:
        return first
    also = " ".join(f"Also: {other.sentence}" for other in others)
    remedies = dict.fromkeys(other.remedy for other in (first, *others) if other.remedy)
    return Why(first.code, f"{first.sentence} {also}", " ".join(remedies))


def _obstacles(facts: TaskFacts) -> Iterator[Why]:
    """What keeps a pending task from being claimed, nearest first; READY when nothing does."""
    found = [why for obstacle in _OBSTACLES if (why := obstacle(facts))]
    yield from found or [_workers(facts) or _capabilities(facts) or _holding(facts) or _ready(facts)]


def _prerequisites(facts: TaskFacts) -> Why | None:
    task, missing = facts.task, [w for w in facts.waiting_for if w.status is not Status.DONE]
    if not missing and not task.unmet:
        return None
    if not missing:
        count = "a prerequisite" if task.unmet == 1 else f"{task.unmet} prerequisites"
        return Why(Code.WAITING, f"{task.id} waits for {count}.", "")
    if failed := [w for w in missing if w.status in (Status.FAILED, Status.SKIPPED)]:
        return _prerequisite_failed(facts, failed)
    named = _listed([f"{one.task} ({one.status})" for one in missing])
    if asked := next((one.task for one in missing if one.status is Status.HUMAN_LOOP), ""):
        remedy = f"Decide about {asked}, for instance with `whilly review approve {task.plan} {asked}`."
    else:
        remedy = f"See why with `whilly why {task.plan} {missing[0].task}`."
    return Why(Code.WAITING, f"{task.id} waits for {named}.", remedy)


def _review_before_due(facts: TaskFacts) -> Why | None:
    task = facts.task
    if task.review is not Review.BEFORE or task.approved:
        return None
    return Why(Code.REVIEW_BEFORE_DUE, f"{task.id} needs a person's approval before it starts.", _decide(task))


def _parked(facts: TaskFacts) -> Why | None:
    task = facts.task
    if task.parked_until is None or task.parked_until <= facts.now:
        return None
    because = _because(task.reason)
    sentence = f"{task.id} waits {until(task.parked_until, facts.now)}{because}"
    return Why(Code.PARKED, sentence, "Nothing: it goes on by itself.")


def _system_paused(facts: TaskFacts) -> Why | None:
    if facts.system_paused is None:
        return None
    return Why(
        Code.SYSTEM_PAUSED, f"Everything is paused{_because(facts.system_paused)}", "Go on with `whilly resume`."
    )


def _plan_paused(facts: TaskFacts) -> Why | None:
    if facts.plan_paused is None or (facts.asks_about_budget and _plan_budget(facts)):
        return None
    plan = facts.task.plan
    return Why(
        Code.PLAN_PAUSED,
        f"Plan {plan} is paused{_because(facts.plan_paused)}",
        f"Go on with `whilly resume {plan}`.",
    )


def _plan_budget(facts: TaskFacts) -> Why | None:
    if facts.budget is None or facts.spent + facts.reserved < facts.budget:
        return None
    plan = facts.task.plan
    if facts.spent >= facts.budget:
        return Why(
            Code.OVER_BUDGET,
            f"Plan {plan} has spent {shown(facts.spent)} of its budget of {shown(facts.budget)}.",
            f"Raise it with `whilly budget set {plan} AMOUNT`, or go on without one: `whilly budget set {plan} none`.",
        )
    return Why(
        Code.BUDGET_RESERVED,
        f"Running tasks have reserved what is left of plan {plan}'s budget ({shown(facts.reserved)}).",
        f"Nothing: it goes on when one of them ends; or raise it with `whilly budget set {plan} AMOUNT`.",
    )


def _daily_budget(facts: TaskFacts) -> Why | None:
    budget, spent = facts.daily_budget, facts.spent_today
    if budget is None or spent + facts.reserved < budget:
        return None
    plan = facts.task.plan
    raise_it = f"raise it with `whilly budget set {plan} AMOUNT --per-day`"
    if spent >= budget:
        return Why(
            Code.OVER_DAILY_BUDGET,
            f"Plan {plan} has spent {shown(spent)} today, of {shown(budget)} per day.",
            f"Nothing: it goes on at midnight UTC; or {raise_it}.",
        )
    return Why(
        Code.BUDGET_RESERVED,
        f"Running tasks have reserved what is left of plan {plan}'s budget for today ({shown(facts.reserved)}).",
        f"Nothing: it goes on when one of them ends; or {raise_it}.",
    )


def _task_budget(facts: TaskFacts) -> Why | None:
    task, budget = facts.task, facts.task_budget
    if budget is None or task.spent < budget:
        return None
    return Why(
        Code.TASK_OVER_BUDGET,
        f"{task.id} has spent {shown(task.spent)} of its own budget of {shown(budget)}.",
        f"Raise it with `whilly budget set {task.plan} AMOUNT --task {task.id}`.",
    )


def _held(facts: TaskFacts) -> Why | None:
    if not facts.held_files:
        return None
    here = facts.task.plan
    holders: dict[str, list[str]] = {}
    for held in facts.held_files:
        holder = held.task if held.plan == here else f"{held.task} of plan {held.plan}"
        holders.setdefault(holder, []).append(one_line(held.path) or "a file")
    told = _listed([f"{holder} is changing {_listed(paths)}" for holder, paths in holders.items()])
    return Why(Code.FILE_HELD, f"{facts.task.id} waits because {told}.", "")


def _workers(facts: TaskFacts) -> Why | None:
    if facts.workers_online > 0:
        return None
    plan = facts.task.plan
    return Why(
        Code.NO_WORKER,
        f"{facts.task.id} is ready, but no worker is online.",
        f"Start one with `whilly run --plan {plan}`.",
    )


def _capabilities(facts: TaskFacts) -> Why | None:
    wants = facts.wants
    if facts.workers_online <= 0 or facts.offers is None or not (missing := what_nobody_has(wants, facts.offers)):
        return None
    if missing == f"agent {wants.agent}":
        return Why(
            Code.NO_AGENT,
            f"{facts.task.id} asks for agent {wants.agent}, which no worker that is online can run.",
            f"Start a worker with `--agent {wants.agent}`, or give the task to another agent.",
        )
    return Why(
        Code.NO_CAPABLE_WORKER,
        f"{facts.task.id} asks for {missing}, which no worker that is online has.",
        "Start a worker that has it, for instance with `whilly-worker --tag TAG`, or change what the plan asks for.",
    )


def _holding(facts: TaskFacts) -> Why | None:
    if facts.workers_online <= 0 or not facts.workers_hold:
        return None
    said = one_line(facts.workers_hold, LONGEST_REASON).rstrip(".")
    return Why(Code.WORKERS_HOLD, f"{facts.task.id} is ready, but no worker takes tasks now: {said}.", "")


_OBSTACLES: tuple[Callable[[TaskFacts], Why | None], ...] = (
    _prerequisites,
    _review_before_due,
    _parked,
    _system_paused,
    _plan_paused,
    _task_budget,
    _plan_budget,
    _daily_budget,
    _held,
)


def _ready(facts: TaskFacts) -> Why:
    task = facts.task
    if task.attempts and task.reason:
        return Why(Code.READY, f"{task.id} is ready for another attempt{_because(task.reason)}", "")
    return Why(Code.READY, f"{task.id} is ready: the next free worker takes it.", "")


def _running(facts: TaskFacts) -> Why:
    task = facts.task
    worker = task.claim.worker if task.claim else "a worker"
    seen = None if facts.last_seen_seconds is None else max(facts.last_seen_seconds, 0.0)
    if task.cancel_requested:
        return Why(Code.CANCELLING, f"{task.id} is being cancelled: {worker} stops its agent.", "")
    if seen is not None and seen >= SILENT_SECONDS:
        return Why(
            Code.SILENT,
            f"{worker}, which works on {task.id}, has given no sign of life for {in_words(seen)}.",
            "Nothing: when its lease runs out, another worker takes the task.",
        )
    code, doing = _PHASES.get(facts.phase, _PHASES["preparing" if task.status is Status.CLAIMED else "agent"])
    since = in_words((facts.now - task.claim.since).total_seconds()) if task.claim else ""
    took = f" (attempt {task.epoch}, for {since})" if since else ""
    return Why(code, f"{doing.format(worker=worker, task=task.id)}{took}.", "")


_PHASES = {
    "preparing": (Code.PREPARING, "{worker} prepares the workspace of {task}"),
    "agent": (Code.RUNNING, "{worker} lets its agent work on {task}"),
    "checks": (Code.CHECKING, "{worker} runs the checks of {task}"),
    "reporting": (Code.REPORTING, "{worker} reports the result of {task}"),
}


def _human_loop(facts: TaskFacts) -> Why:
    task = facts.task
    if task.result_commit:
        sentence = f"{task.id} is finished and verified at {_result(task)}; a person has to decide about it."
        return Why(Code.REVIEW_RESULT, sentence, _decide(task))
    return Why(Code.REVIEW_BEFORE, f"{task.id} waits for a person's approval before it starts.", _decide(task))


def _blocked(facts: TaskFacts) -> Why:
    task = facts.task
    failed = [w for w in facts.waiting_for if w.status in (Status.FAILED, Status.SKIPPED)]
    if task.blocked_by and not any(w.task == task.blocked_by for w in failed):
        failed = [w for w in facts.waiting_for if w.task == task.blocked_by] or failed
    if failed:
        return _prerequisite_failed(facts, failed)
    if task.blocked_by:
        again = f"See why with `whilly why {task.plan} {task.blocked_by}`."
        return Why(Code.PREREQUISITE_FAILED, f"{task.id} is blocked by {task.blocked_by}{_because(task.reason)}", again)
    if facts.task_budget is not None and task.spent >= facts.task_budget:
        raise_it = f"`whilly budget set {task.plan} AMOUNT --task {task.id}`"
        return Why(
            Code.BLOCKED,
            f"{task.id} needs a person{_because(task.reason)}",
            f"Raise its budget with {raise_it}, then `whilly task retry {task.plan} {task.id}`.",
        )
    return Why(
        Code.BLOCKED,
        f"{task.id} needs a person{_because(task.reason)}",
        f"When that is mended: `whilly task retry {task.plan} {task.id}`; to do without it: "
        f"`whilly task skip {task.plan} {task.id}`.",
    )


def _prerequisite_failed(facts: TaskFacts, failed: list[Waiting]) -> Why:
    task, first = facts.task, failed[0]
    names = _listed([f"{one.task} is {one.status}" for one in failed])
    if first.status in (Status.FAILED, Status.SKIPPED):
        remedy = f"Try it again with `whilly task retry {task.plan} {first.task}`."
    else:
        remedy = f"See why with `whilly why {task.plan} {first.task}`."
    return Why(Code.PREREQUISITE_FAILED, f"{task.id} needs {first.task}: {names}{_because(first.reason)}", remedy)


def _done(facts: TaskFacts) -> Why:
    task = facts.task
    if not task.result_commit:
        return Why(Code.DONE, f"{task.id} is done.", "")
    return Why(Code.DONE, f"{task.id} is done: its result is commit {_result(task)}.", _merge(facts))


def _merge(facts: TaskFacts) -> str:
    task = facts.task
    if facts.elsewhere or is_bundled(task.result_branch):
        return f"Get it into a repository of yours with `whilly task fetch {task.plan} {task.id}`."
    return f"Its result is yours to merge: `git merge {task.result_branch}`." if task.result_branch else ""


def _failed(facts: TaskFacts) -> Why:
    task = facts.task
    return Why(
        Code.FAILED,
        f"{task.id} failed{_because(task.reason)}",
        f"Try again: `whilly task retry {task.plan} {task.id}`.",
    )


def _skipped(facts: TaskFacts) -> Why:
    task = facts.task
    sentence = f"{task.id} was skipped{_because(task.reason)}"
    return Why(Code.SKIPPED, sentence, f"To do it after all: `whilly task retry {task.plan} {task.id}`.")


_BY_STATUS: dict[Status, Callable[[TaskFacts], Why]] = {
    Status.PENDING: _pending,
    Status.CLAIMED: _running,
    Status.IN_PROGRESS: _running,
    Status.HUMAN_LOOP: _human_loop,
    Status.BLOCKED: _blocked,
    Status.DONE: _done,
    Status.FAILED: _failed,
    Status.SKIPPED: _skipped,
}


def _result(task: Task) -> str:
    """The commit and where it is: on the task's branch, or kept by a ref when that branch is somebody else's."""
    commit, place = task.result_commit[:10], task.result_branch
    if not place:
        return commit
    if is_bundled(place):
        return f"{commit}, kept as a bundle"
    return f"{commit}, kept as {place}" if place.startswith("refs/") else f"{commit} on branch {place}"


def _decide(task: Task) -> str:
    name = f"{task.plan} {task.id}"
    return (
        f"Decide in the page, or with `whilly review approve {name}`, `whilly review reject {name}` "
        f"or `whilly review changes {name}`."
    )


def _because(reason: str) -> str:
    """The end of a sentence: a colon and the reason, or only the full stop."""
    said = one_line(reason, LONGEST_REASON)
    if not said:
        return "."
    return f": {said}" if said.endswith((".", "!", "?", "…")) else f": {said}."


def _listed(items: list[str]) -> str:
    if len(items) > 4:
        return f"{', '.join(items[:3])} and {len(items) - 3} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
