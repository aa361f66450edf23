"""Read models to words: what the templates print, already shortened and named."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from whilly.core.money import shown
from whilly.core.names import is_bundled
from whilly.core.plan import FINISHED, RUNNING, Status
from whilly.operations.read_board import Board, WaitsForPerson
from whilly.operations.read_events import StoredEvent
from whilly.operations.read_plans import PlanSummary, TaskView
from whilly.server.dashboard.sentences import sentence_for

WORDS = {
    Status.PENDING: ("waiting", "wait"),
    Status.CLAIMED: ("starting", "run"),
    Status.IN_PROGRESS: ("running", "run"),
    Status.HUMAN_LOOP: ("your decision", "person"),
    Status.BLOCKED: ("blocked", "fail"),
    Status.DONE: ("done", "done"),
    Status.FAILED: ("failed", "fail"),
    Status.SKIPPED: ("skipped", "skip"),
}
"""Each status as a person reads it, and the tone it is shown in."""

BAR = (
    Status.DONE,
    Status.IN_PROGRESS,
    Status.CLAIMED,
    Status.HUMAN_LOOP,
    Status.BLOCKED,
    Status.FAILED,
    Status.PENDING,
    Status.SKIPPED,
)
ROWS = 50
MOST_ROWS = 500
SHORT = 280
LONG = 4_000


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the progress bar."""

    word: str
    tone: str
    count: int
    percent: float


@dataclass(frozen=True, slots=True)
class PlanCard:
    """A plan in the list and above its tasks."""

    id: str
    name: str
    url: str
    action: str
    current: bool
    line: str
    segments: tuple[Segment, ...]
    total: int
    done: int
    running: int
    waiting: int
    people: int
    spent: str
    budget: str
    paused: str


@dataclass(frozen=True, slots=True)
class Row:
    """A task in the table."""

    id: str
    word: str
    tone: str
    priority: str
    description: str
    why: str
    remedy: str
    last_line: str
    spent: str


@dataclass(frozen=True, slots=True)
class PersonCard:
    """A task that waits for a person."""

    id: str
    word: str
    tone: str
    description: str
    reason: str
    review: bool
    """Approve, request changes, reject; otherwise: retry, skip."""
    checks: tuple[Any, ...]
    output: str
    summary: str
    look: str
    action: str
    transcript_url: str


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event in the list."""

    position: int
    iso: str
    time: str
    task: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the template prints."""

    title: str
    plans: tuple[PlanCard, ...]
    plan: PlanCard | None = None
    people: tuple[PersonCard, ...] = ()
    tasks: tuple[Row, ...] = ()
    hidden: int = 0
    events: tuple[EventLine, ...] = ()
    notice: str = ""
    fragment_url: str = "/?fragment=board"
    changes_url: str = "/changes"
    more_url: str = ""


def page_of(plans: list[PlanSummary], board: Board | None, rows: int = ROWS, notice: str = "") -> Page:
    """The page for one plan among all of them."""
    if board is None:
        return Page("Plans", (), notice=notice)
    current = board.overview.summary
    cards = tuple(_plan_card(summary, current.id) for summary in plans)
    only_this = urlencode({"plan": current.id})
    in_cards = {item.id for item in board.people}
    wide = "" if rows == ROWS else f"&rows={rows}"
    return Page(
        title=current.project or current.id,
        plans=cards,
        plan=_plan_card(current, current.id),
        people=tuple(_person_card(current.id, item) for item in board.people),
        tasks=tuple(_row(view, in_card=view.task.id in in_cards) for view in board.overview.tasks),
        hidden=current.tasks - len(board.overview.tasks),
        events=tuple(_line(event) for event in board.events),
        notice=notice,
        fragment_url=f"/?{only_this}{wide}&fragment=board",
        changes_url=f"/changes?{only_this}",
        more_url=f"/?{only_this}&rows={MOST_ROWS}",
    )


def _plan_card(summary: PlanSummary, current: str) -> PlanCard:
    counts = summary.counts
    total = summary.tasks
    done = counts.get(Status.DONE, 0)
    people = counts.get(Status.HUMAN_LOOP, 0)
    finished = sum(counts.get(status, 0) for status in FINISHED)
    line = f"{finished} of {total} finished" + (f" · {people} for you" if people else "")
    return PlanCard(
        id=summary.id,
        name=summary.project or summary.id,
        url=f"/?{urlencode({'plan': summary.id})}",
        action=f"/plans/{quote(summary.id, safe='')}",
        current=summary.id == current,
        line=line,
        segments=_segments(counts, total),
        total=total,
        done=done,
        running=sum(counts.get(status, 0) for status in RUNNING),
        waiting=counts.get(Status.PENDING, 0),
        people=people,
        spent=shown(summary.spent),
        budget="" if summary.budget is None else shown(summary.budget),
        paused=short(summary.paused or ""),
    )


def _segments(counts: dict[Status, int], total: int) -> tuple[Segment, ...]:
    return tuple(
        Segment(*WORDS[status], counts[status], round(100 * counts[status] / total, 2))
        for status in BAR
        if counts.get(status)
    )


def _row(view: TaskView, *, in_card: bool) -> Row:
    word, tone = WORDS[view.task.status]
    running = view.task.status in RUNNING
    return Row(
        id=view.task.id,
        word=word,
        tone=tone,
        priority=view.spec.priority.word,
        description=short(view.spec.description),
        why=short(view.why.sentence),
        remedy="" if in_card or view.task.status in FINISHED else short(view.why.remedy),
        last_line=short(view.last_line) if running else "",
        spent=shown(view.task.spent) if view.task.spent else "",
    )


def _person_card(plan: str, item: WaitsForPerson) -> PersonCard:
    word, tone = WORDS[item.status]
    place = f"/plans/{quote(plan, safe='')}/tasks/{quote(item.id, safe='')}"
    failed = next((check for check in item.checks if not check.passed), None)
    return PersonCard(
        id=item.id,
        word=word,
        tone=tone,
        description=short(item.spec.description),
        reason=short(item.reason),
        review=item.status is Status.HUMAN_LOOP,
        checks=item.checks,
        output=short(failed.output_tail or failed.output_head, LONG) if failed else "",
        summary=short(item.summary, LONG),
        look=_look(plan, item),
        action=place,
        transcript_url="" if item.epoch is None else f"/api/v1{place}/attempts/{item.epoch}/transcript",
    )


def _look(plan: str, item: WaitsForPerson) -> str:
    """The command that shows what an attempt did; empty when it left nothing."""
    if item.branch and (item.spec.repo_target_id or is_bundled(item.branch)):
        return f"whilly task fetch {plan} {item.id}"
    place = item.branch or item.kept_ref
    return f"git log -p {place}" if place else ""


def _line(event: StoredEvent) -> EventLine:
    return EventLine(
        position=event.position,
        iso=event.at.isoformat(timespec="seconds"),
        time=event.at.astimezone().strftime("%H:%M:%S"),
        task=event.task or "",
        sentence=short(sentence_for(event)),
    )


def short(text: str, most: int = SHORT) -> str:
    """At most so many characters, marked where it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
