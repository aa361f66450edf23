"""The queue, small enough to look at every state: leases, sweep, reports and money, with rules that can be exchanged.

Steps in capitals and with dots are events of the log, by their real names; the others leave no event. Workers are never
sure to be alone: whoever claimed a task may report on it at any later time, for a pause of any length is possible.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

PENDING, CLAIMED, IN_PROGRESS, DONE = "PENDING", "CLAIMED", "IN_PROGRESS", "DONE"
STOPPED = "STOPPED"
"""FAILED, BLOCKED, SKIPPED or HUMAN_LOOP: only a person brings it further."""
APPROVED = "APPROVED"
"""A person has agreed to its result, and that makes it DONE."""
RUNNING, IDLE = (CLAIMED, IN_PROGRESS), (PENDING, STOPPED)

ENDS = {"RELEASE": PENDING, "COMPLETE": DONE}
ENDS |= dict.fromkeys(("FAIL", "task.blocked", "human_review.required"), STOPPED)
"""What the report of a worker, or a sweep, makes of a running task."""
BY_PEOPLE = {
    **dict.fromkeys(("FAIL", "task.blocked", "human_review.required", "task.skipped"), dict.fromkeys(IDLE, STOPPED)),
    **{name: {STOPPED: PENDING} for name in ("task.retried", "task.unblocked", "human_review.changes_requested")},
    "human_review.rejected": {STOPPED: STOPPED},
    "COMPLETE": {APPROVED: DONE},
    "RESET": dict.fromkeys((PENDING, STOPPED, DONE), PENDING),
    "task.ready": {PENDING: PENDING},
    "task.cancel_requested": {s: s for s in RUNNING},
}
"""What people, and prerequisites that end, make of a task in which status."""

LEASE = 1
"""Ticks."""


@dataclass(frozen=True)
class Rules:
    """The right ones, unless said otherwise."""

    fence: str = "epoch"
    """What a report must agree with: `none`, `state` (the task runs), `owner` (and is mine), `epoch`."""
    sweep: str = "guarded"
    """`guarded`: one statement; `read, then write`; `unguarded`: without a look at the lease."""
    budget: str = "reserved"
    """`reserved` at claim; or only `checked` there."""
    lease_from: str = "clock_timestamp"
    """The moment of writing; or `now`: when the transaction began."""
    tasks: int = 1
    workers: int = 2
    money: int | None = None
    """Attempts that the plan's budget pays for."""
    most_claims: int = 3
    people: bool = False


class Task(NamedTuple):
    status: str = PENDING
    epoch: int = 0
    owner: int = 0
    left: int = 0
    """Ticks of the lease that is stored."""
    promised: int = 0
    """Ticks that the worker was last told it has."""


class Attempt(NamedTuple):
    worker: int
    task: int
    epoch: int


class State(NamedTuple):
    tasks: tuple[Task, ...]
    attempts: frozenset[Attempt] = frozenset()
    """All that a worker may still believe to have."""
    beats: frozenset[tuple[Attempt, int]] = frozenset()
    """Heartbeats whose transaction has begun, and how much of a lease is left when it is counted from there."""
    seen: frozenset[int] = frozenset()
    """Tasks that a sweep has read as lost and not yet written."""
    spent: int = 0
    reserved: int = 0


class Step(NamedTuple):
    name: str
    who: str
    task: int
    after: State
    broken: str = ""
    """The promise that this step breaks."""

    def __str__(self) -> str:
        return f"{self.name} T{self.task + 1} by {self.who}" if self.who else self.name


def start(rules: Rules, status: str = PENDING) -> State:
    return State((Task(status),) * rules.tasks)


def steps(state: State, rules: Rules) -> Iterator[Step]:
    """Everything that can happen next."""
    for number, task in enumerate(state.tasks):
        yield from _claims(state, rules, number, task)
        yield from _sweeps(state, rules, number, task)
        if rules.people:
            yield from _people(state, number, task)
    for attempt in sorted(state.attempts):
        yield from _reports(state, rules, attempt)
        if rules.lease_from == "now" and not state.beats:
            yield Step("heartbeat begins", f"w{attempt.worker}", attempt.task, _with(state, beats={(attempt, LEASE)}))
    for attempt, left in state.beats:
        yield from _heartbeat(_with(state, beats=()), rules, attempt, left)
    yield Step("time passes", "", 0, _tick(state))


def _claims(state: State, rules: Rules, number: int, task: Task) -> Iterator[Step]:
    affordable = rules.money is None or state.spent + state.reserved < rules.money
    if task.status == PENDING and affordable and task.epoch < rules.most_claims:
        for worker in range(1, rules.workers + 1):
            moved = Task(CLAIMED, task.epoch + 1, worker, LEASE, LEASE)
            held = Attempt(worker, number, moved.epoch)
            after = _with(_moved(state, number, moved), attempts=state.attempts | {held})
            if rules.budget == "reserved":
                after = after._replace(reserved=state.reserved + 1)
            yield Step("CLAIM", f"w{worker}", number, after)


def _reports(state: State, rules: Rules, attempt: Attempt) -> Iterator[Step]:
    """What the fence lets through; a report that is refused changes nothing."""
    task, who = state.tasks[attempt.task], f"w{attempt.worker}"
    if not _let_through(task, rules, attempt):
        return
    over = task.status not in RUNNING or task.epoch != attempt.epoch
    broken = "an attempt that was over was believed" if over else ""
    if task.status == CLAIMED:
        yield Step("START", who, attempt.task, _moved(state, attempt.task, task._replace(status=IN_PROGRESS)), broken)
    for name, status in ENDS.items():
        after = _ended(state, rules, attempt.task, task._replace(status=status))
        after = _with(after, attempts=state.attempts - {attempt})
        yield Step(name, who, attempt.task, after, broken or _overspent(after, rules))
    if rules.lease_from == "clock_timestamp":
        yield from _heartbeat(state, rules, attempt, LEASE)


def _let_through(task: Task, rules: Rules, attempt: Attempt) -> bool:
    if rules.fence == "none":
        return True
    owner, epoch = task.owner == attempt.worker, task.epoch == attempt.epoch
    return task.status in RUNNING and {"state": True, "owner": owner, "epoch": epoch}[rules.fence]


def _heartbeat(state: State, rules: Rules, attempt: Attempt, left: int) -> Iterator[Step]:
    task = state.tasks[attempt.task]
    if _let_through(task, rules, attempt):
        broken = "an attempt that was over kept a lease" if task.epoch != attempt.epoch else ""
        kept = task._replace(left=max(left, task.left), promised=LEASE)
        yield Step("heartbeat", f"w{attempt.worker}", attempt.task, _moved(state, attempt.task, kept), broken)


def _sweeps(state: State, rules: Rules, number: int, task: Task) -> Iterator[Step]:
    lost = task.status in RUNNING and (task.left == 0 or rules.sweep == "unguarded")
    if rules.sweep == "read, then write":
        if lost:
            yield Step("sweep reads", "", number, _with(state, seen=state.seen | {number}))
        lost = number in state.seen
    if not lost:
        return
    finished = "a finished task was taken back" if task.status == DONE else ""
    broken = finished or ("a worker that had just been heard lost its task" if task.promised else "")
    for name in ("RELEASE", "FAIL"):
        after = _ended(state, rules, number, task._replace(status=ENDS[name]))
        after = _with(after, seen=state.seen - {number})
        yield Step(name, "sweep", number, after, broken or _overspent(after, rules))


def _people(state: State, number: int, task: Task) -> Iterator[Step]:
    for name, ways in BY_PEOPLE.items():
        if task.status in ways:
            yield Step(name, "people", number, _moved(state, number, task._replace(status=ways[task.status])))
    if task.status == STOPPED:
        for status in (PENDING, APPROVED):
            after = _moved(state, number, task._replace(status=status))
            yield Step("human_review.approved", "people", number, after)


def _ended(state: State, rules: Rules, number: int, task: Task) -> State:
    """The attempt is over and paid for: it costs what one may."""
    moved = _moved(state, number, task._replace(owner=0, left=0, promised=0))
    if rules.money is None:
        return moved._replace(reserved=0)
    freed = 1 if rules.budget == "reserved" else 0
    return moved._replace(spent=state.spent + 1, reserved=state.reserved - freed)


def _overspent(state: State, rules: Rules) -> str:
    return "more was spent than the budget" if rules.money is not None and state.spent > rules.money else ""


def _tick(state: State) -> State:
    tasks = (task._replace(left=max(task.left - 1, 0), promised=max(task.promised - 1, 0)) for task in state.tasks)
    beats = frozenset((attempt, max(left - 1, 0)) for attempt, left in state.beats)
    return state._replace(tasks=tuple(tasks), beats=beats)


def _moved(state: State, number: int, task: Task) -> State:
    return state._replace(tasks=(*state.tasks[:number], task, *state.tasks[number + 1 :]))


def _with(state: State, **sets: object) -> State:
    return state._replace(**{name: frozenset(values) for name, values in sets.items()})  # type: ignore[call-overload]
